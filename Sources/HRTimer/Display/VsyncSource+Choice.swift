// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
public import HRTimerCore
import HRTimerLibc

extension VsyncSource {
    /// Opens a source of an X server's refreshes, by `PresentNotifyMSC`, for the display at the position `x`, `y`, in pixels
    /// from the screen's corner.
    ///
    /// `display` has the syntax of the environment's DISPLAY; nil uses DISPLAY itself.
    ///
    /// Needs libxcb and libxcb-present at run time, and nothing at build time. Creates a window of one pixel that is never
    /// shown. Waits up to half a second for a server that does not answer. Throws ENOENT without the libraries, ECONNREFUSED
    /// without a server, ETIMEDOUT if the server does not answer, ENOTSUP without the extension. If the server ends, the
    /// source tries to connect again, every quarter of a second at first and every eight seconds at last. Under a Wayland
    /// session the refreshes are those of Xwayland, which are synthetic.
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

    /// Opens a source of the refreshes of a card's first CRTC that is on.
    ///
    /// `card` is the path of the card's node; nil uses the first usable one of `/dev/dri/card0` to `card15`.
    ///
    /// The source uses `DRM_IOCTL_CRTC_QUEUE_SEQUENCE`, or on old kernels `DRM_IOCTL_WAIT_VBLANK`. It needs permission to open
    /// the node (group video), but need be neither root nor DRM master, which a compositor may be. The refreshes are the
    /// CRTC's; they do not show when a compositor presents what was drawn. Throws ENOENT without a card, EACCES without the
    /// permission, ENXIO if no CRTC is on, ENOTSUP if the driver counts no refreshes.
    public static func drm(card: String? = nil) throws(TimerError) -> VsyncSource {
        try openDRM(card, refusals: [])
    }

    private static func openDRM(_ card: String?, refusals: [Refusal]) throws(TimerError) -> VsyncSource {
        // Safe: without functions of a test.
        let driver = try unsafe CVsyncDriver.drm(card)
        return VsyncSource(kind: .drm, driver: driver, refusals: refusals) { () throws(TimerError) in
            try unsafe CVsyncDriver.drm(card)
        }
    }

    /// The source of links that were given neither a rate nor a source, chosen at its first use.
    ///
    /// A forked child chooses again.
    ///
    /// The environment's VSYNC_SOURCE names it: `virtual`, `virtual:RATE`, `wayland`, `x11`, `x11:DISPLAY`, `drm` or
    /// `drm:PATH`. Otherwise it is the first of these that works: the offered surface, an X server that does not belong to a
    /// Wayland session, a card of the kernel, a virtual display of 60 Hz. `refusals` says why earlier choices were not taken.
    public static var shared: VsyncSource {
        let found = sharedSource.withLock { $0?.generation == hrt_fork_generation() ? $0?.source : nil }
        if let found { return found }
        // Safe: the text is copied at once. No other thread may change the environment meanwhile, getenv(3).
        let chosen = chosen(surface: offeredSurface.withLock { $0 }) {
            unsafe getenv($0).map { unsafe String(cString: $0) }
        }
        return sharedSource.withLock { shared in
            if let shared, shared.generation == hrt_fork_generation() { return shared.source }
            shared = (hrt_fork_generation(), chosen)
            return chosen
        }
    }

    /// Sets the surface that `shared` uses from now on, unless VSYNC_SOURCE names something else; nil for none.
    ///
    /// Must be set to nil before the surface is destroyed. Links that are already in a loop, and code that holds the earlier
    /// source, keep that source: `detach()` makes it release its surface.
    public static func offer(_ surface: WaylandSurface?) {
        offeredSurface.withLock { $0 = surface }
        let before = sharedSource.withLock { $0.take() }
        withExtendedLifetime(before) {}
    }

    private static let offeredSurface = Locked<WaylandSurface?>(nil)
    private static let sharedSource = Locked<(generation: UInt32, source: VsyncSource)?>(nil)

    /// Chooses the value of `shared` for this environment and this offered surface.
    static func chosen(surface offered: WaylandSurface? = nil, _ environment: (String) -> String?) -> VsyncSource {
        var refusals: [Refusal] = []
        func attempt(_ kind: Kind, _ open: () throws(TimerError) -> VsyncSource) -> VsyncSource? {
            do { return try open() } catch {
                refusals.append((kind, "\(error)"))
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
                refusals.append((kind: .virtual, reason: reason))
            }
            return VsyncSource(kind: .virtual, driver: nil, refusals: refusals, reopen: nil)
        }
        if let source = attempt(.wayland, surface) { return source }
        if environment("WAYLAND_DISPLAY") != nil {
            refusals.append(
                (.x11, "the X server of a Wayland session makes its refreshes up")
            )
        } else if let display = environment("DISPLAY") {
            let source = attempt(.x11) { () throws(TimerError) in try openX11(display, refusals: refusals) }
            if let source { return source }
        } else {
            refusals.append((.x11, "DISPLAY is not set"))
        }
        let card = attempt(.drm) { () throws(TimerError) in try openDRM(nil, refusals: refusals) }
        return card ?? VsyncSource(kind: .virtual, driver: nil, refusals: refusals, reopen: nil)
    }

    /// Returns the virtual display that all links with the same rate on the same clock share.
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
    /// Parses a rate: `60`, `59.94`, `60000/1001`.
    ///
    /// Returns nil if the text is invalid.
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
