#if os(Linux)
import CHRTimer
public import HRTimerCore
import HRTimerLibc

extension VsyncSource {
    /// The refreshes of an X server, by `PresentNotifyMSC`: those of the display at the position, in pixels from the
    /// screen's corner. `display` has DISPLAY's syntax; nil for DISPLAY itself.
    ///
    /// Needs libxcb and libxcb-present at run time, nothing at build time. Makes a window of one pixel that is never
    /// shown. Waits up to half a second for a server that does not answer. Throws ENOENT without the libraries,
    /// ECONNREFUSED without a server, ETIMEDOUT if it does not answer, ENOTSUP without the extension. If the server
    /// ends, the source tries to connect again, every quarter of a second at first and every eight seconds at last.
    /// Under a Wayland session the refreshes are Xwayland's, which are synthetic.
    public static func x11(display: String? = nil, x: Int = 0, y: Int = 0) throws(TimerError) -> VsyncSource {
        try openX11(display, x: x, y: y, refusals: [])
    }

    private static func openX11(
        _ display: String?,
        x: Int = 0,
        y: Int = 0,
        refusals: [Refusal]
    ) throws(TimerError) -> VsyncSource {
        let driver = try CVsyncDriver.x11(display, x: x, y: y, answerWithin_ms: 500)
        return VsyncSource(kind: .x11, driver: driver, refusals: refusals) { () throws(TimerError) in
            try CVsyncDriver.x11(display, x: x, y: y, answerWithin_ms: 20)
        }
    }

    /// The refreshes of a card's first CRTC that is on, by `DRM_IOCTL_CRTC_QUEUE_SEQUENCE`, or on old kernels
    /// `DRM_IOCTL_WAIT_VBLANK`. `card` is the path of its node; nil for the first usable one of `/dev/dri/card0` to
    /// `card15`.
    ///
    /// Needs permission to open the node (group video), but not root, and not to be DRM master, as a compositor may be.
    /// The refreshes are the CRTC's; they do not show when a compositor presents what was drawn. Throws ENOENT without
    /// a card, EACCES, ENXIO if no CRTC is on, ENOTSUP if the driver counts no refreshes.
    public static func drm(card: String? = nil) throws(TimerError) -> VsyncSource {
        try openDRM(card, refusals: [])
    }

    private static func openDRM(_ card: String?, refusals: [Refusal]) throws(TimerError) -> VsyncSource {
        let driver = try CVsyncDriver.drm(card)
        return VsyncSource(kind: .drm, driver: driver, refusals: refusals) { () throws(TimerError) in
            try CVsyncDriver.drm(card)
        }
    }

    /// The source of links that were given neither a rate nor a source, chosen at its first use: what the environment's
    /// VSYNC_SOURCE names; else the offered surface, an X server that is not a Wayland compositor's, a card of the
    /// kernel, or a virtual display of 60 Hz. `refusals` says why earlier choices were not taken.
    ///
    /// VSYNC_SOURCE is `virtual`, `virtual:RATE`, `wayland`, `x11`, `x11:DISPLAY`, `drm` or `drm:PATH`. A forked child
    /// chooses again.
    public static var shared: VsyncSource {
        let found = sharedSource.withLock { $0?.generation == hrt_fork_generation() ? $0?.source : nil }
        if let found { return found }
        let chosen = chosen(surface: offeredSurface.withLock { $0 }) { getenv($0).map { String(cString: $0) } }
        return sharedSource.withLock { shared in
            if let shared, shared.generation == hrt_fork_generation() { return shared.source }
            shared = (hrt_fork_generation(), chosen)
            return chosen
        }
    }

    /// The surface that `shared` uses from now on, unless VSYNC_SOURCE names something else; nil for none, to be set
    /// before the surface is destroyed. Links that are in a loop already, and code that has the earlier source, keep
    /// that: `detach()` makes it release its surface.
    public static func offer(_ surface: WaylandSurface?) {
        offeredSurface.withLock { $0 = surface }
        let before = sharedSource.withLock { $0.take() }
        withExtendedLifetime(before) {}
    }

    private static let offeredSurface = Locked<WaylandSurface?>(nil)
    private static let sharedSource = Locked<(generation: UInt32, source: VsyncSource)?>(nil)

    /// The value of `shared` in that environment, with that offered surface.
    static func chosen(surface offered: WaylandSurface? = nil, _ environment: (String) -> String?) -> VsyncSource {
        var refusals: [Refusal] = []
        func attempt(_ kind: Kind, _ open: () throws(TimerError) -> VsyncSource) -> VsyncSource? {
            do { return try open() } catch {
                refusals.append(Refusal(kind: kind, reason: "\(error)"))
                return nil
            }
        }
        func surface() throws(TimerError) -> VsyncSource {
            guard let offered else {
                throw TimerError(
                    operation: "follow a surface of the application's, which offered none",
                    errorNumber: ENXIO
                )
            }
            return try openWayland(offered, refusals: refusals)
        }
        if let request = environment("VSYNC_SOURCE"), !request.isEmpty {
            let parts = request.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let rest = parts.count > 1 && !parts[1].isEmpty ? parts[1] : nil
            switch Kind(rawValue: parts[0]) {
            case .virtual: return VsyncSource(frameRate: rest.flatMap { FrameRate($0) } ?? .standard)
            case .wayland: if let source = attempt(.wayland, surface) { return source }
            case .x11:
                if let source = attempt(.x11, { () throws(TimerError) in try x11(display: rest) }) { return source }
            case .drm: if let source = attempt(.drm, { () throws(TimerError) in try drm(card: rest) }) { return source }
            case nil:
                let reason = "VSYNC_SOURCE is \(request), which is none of virtual, wayland, x11 and drm"
                refusals.append(Refusal(kind: .virtual, reason: reason))
            }
            return VsyncSource(kind: .virtual, driver: nil, refusals: refusals, reopen: nil)
        }
        if let source = attempt(.wayland, surface) { return source }
        if environment("WAYLAND_DISPLAY") != nil {
            refusals.append(
                Refusal(kind: .x11, reason: "the X server of a Wayland session makes its refreshes up")
            )
        } else if let display = environment("DISPLAY") {
            let source = attempt(.x11) { () throws(TimerError) in try openX11(display, refusals: refusals) }
            if let source { return source }
        } else {
            refusals.append(Refusal(kind: .x11, reason: "DISPLAY is not set"))
        }
        let card = attempt(.drm) { () throws(TimerError) in try openDRM(nil, refusals: refusals) }
        return card ?? VsyncSource(kind: .virtual, driver: nil, refusals: refusals, reopen: nil)
    }

    /// The virtual display that all links of one rate on one clock share.
    static func virtual(_ rate: FrameRate, on time: TimeBase) -> VsyncSource {
        let clock = time.id
        return virtualDisplays.withLock { displays in
            displays.removeAll { $0.source == nil }
            if let found = displays.first(where: { $0.clock == clock && $0.rate == rate })?.source,
                found.core.withLock({ $0.rate == rate })
            {
                return found
            }
            let made = VsyncSource(frameRate: rate)
            displays.append(SharedDisplay(source: made, rate: rate, clock: clock))
            return made
        }
    }

    private struct SharedDisplay: Sendable {
        weak var source: VsyncSource?
        let rate: FrameRate
        let clock: TimeID
    }

    private static let virtualDisplays = Locked<[SharedDisplay]>([])
}

extension FrameRate {
    /// A rate from text: `60`, `59.94`, `60000/1001`. Nil if it is invalid.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count == 2, let numerator = Int64(parts[0]), let denominator = Int64(parts[1]), numerator > 0,
            denominator > 0
        {
            self.init(numerator, denominator)
        } else if parts.count == 1, let rate = Double(text), rate > 0 {
            self.init(rate)
        } else {
            return nil
        }
    }
}
#endif
