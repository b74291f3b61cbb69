import Glibc
public import HRTimerCore

/// A surface of the application's, whose refreshes a Wayland compositor reports: `wl_surface`, on its `wl_display`.
///
///     let shown = WaylandSurface(display: display, surface: surface)
///     let source = try VsyncSource.wayland(shown)
///     let link = DisplayLink(source: source) { _ in
///         draw()
///         source.willCommit()
///         wl_surface_commit(surface)
///     }
///
/// Input on the same connection comes to a plain `LoopSource` of the application's on `wl_display_get_fd`, in any loop:
/// the source dispatches its own events alone, and wakes that for what was read of the application's meanwhile, by the
/// source or in a frame, as by EGL:
///
///     let input = try LoopSource(descriptor: wl_display_get_fd(display)) { _, _ in wl_display_dispatch(display) }
///     try loop.add(input, forMode: .common)
///
/// That goes for the display's own queue; an application with another one dispatches that after each frame.
///
/// Both pointers are borrowed: they stay valid until `detach()` has returned, or the source is gone.
public struct WaylandSurface: @unchecked Sendable {
    // Sendable: libwayland-client's objects may be used by any thread.
    let display: OpaquePointer
    let surface: OpaquePointer

    /// Whether the source commits the surface with each request, as it is then, and nobody calls `willCommit()`. For a surface
    /// that is committed by the thread of the links alone: a commit in the midst of another thread's changes would show
    /// half of them. Each costs the compositor a repaint.
    public var isCommittedBySource = false

    /// Whether the source reads the connection when there is something, as EGL does and every library with a queue of its own.
    /// False where the loop runs between `wl_display_prepare_read` and `wl_display_read_events` of the same thread, as when an
    /// application waits for the display and for `hostDescriptor` at once: a second reader would wait there without end. Then
    /// what the application has read is taken at each call of a link.
    public var isReadBySource = true

    /// A surface and the display that it is of: `struct wl_display *` and `struct wl_surface *`.
    public init(display: OpaquePointer, surface: OpaquePointer) {
        self.display = display
        self.surface = surface
    }
}

extension VsyncSource {
    /// What links do while the surface is hidden: minimised, covered, on another workspace. No compositor says so; a
    /// surface counts as hidden when a commit has no answer for two seconds, as also while the compositor is stopped.
    public enum WhenHidden: Sendable, Hashable {
        /// Calls go on as before.
        case full
        /// That many refreshes a second, if there were more.
        case rate(FrameRate)
        /// No calls.
        case stop
    }

    /// The refreshes that a Wayland compositor reports for a surface, by `wl_surface.frame` and `wp_presentation`.
    ///
    /// Timestamps of another clock are brought to `CLOCK_MONOTONIC` one by one; a compositor that reports no
    /// presentation is believed by its frame callbacks, to a millisecond. Needs libwayland-client at run time; nothing
    /// to build. Waits up to half a second for the compositor. Throws ENOENT without the library, ETIMEDOUT if there is
    /// no answer, EPIPE or another error of the connection's. When the compositor ends, the links go on, and the source
    /// waits for a new surface: `attach`.
    public static func wayland(_ surface: WaylandSurface) throws(TimerError) -> VsyncSource {
        try openWayland(surface, refusals: [])
    }

    static func openWayland(_ surface: WaylandSurface, refusals: [VsyncRefusal]) throws(TimerError) -> VsyncSource {
        let driver = try CVsyncDriver.wayland(surface, answerWithin_ms: 500)
        return VsyncSource(kind: .wayland, driver: driver, refusals: refusals, reopen: nil)
    }

    /// To be called before each commit of a Wayland surface, by the thread that commits: a frame callback and a presentation
    /// are asked for with that, if the source needs to know. Two requests at most, sent with the commit. Sources of other
    /// kinds, and of surfaces that the source commits, do nothing.
    public func willCommit() {
        guard kind == .wayland, !isInForkedChild else { return }
        core.withLock { $0.willCommit($0.now_ns) }
    }

    /// Another surface in place of the one before, which is let go: after the compositor ended, or in another window. Throws
    /// as `wayland(_:)`, and keeps the one before then; EINVAL if the source is of another kind.
    public func attach(_ surface: WaylandSurface) throws(TimerError) {
        guard kind == .wayland, !isInForkedChild else {
            throw TimerError(operation: "attach a surface to a source that is not of one", errorNumber: EINVAL)
        }
        let driver = try CVsyncDriver.wayland(surface, answerWithin_ms: 500)
        detach()
        hasOpened(driver)
    }

    /// Lets go of surface and display, which may be destroyed when this has returned. Links go on as if the compositor had
    /// ended. Sources of other kinds do nothing. Idempotent.
    public func detach() {
        guard kind == .wayland, !isInForkedChild else { return }
        let (gone, links) = core.withLock { core in (core.detach(), core.linksToTell()) }
        gone?.hosting?.source.invalidate()
        withExtendedLifetime(gone) {}
        tell(links)
    }

    /// What the links do while the surface is hidden; at first they go on. They are called as before at the first
    /// refresh that the compositor reports again. Only surfaces are ever hidden.
    public var whenHidden: WhenHidden {
        get { core.withLock { $0.whenHidden } }
        set {
            let links = core.withLock { core in
                core.setWhenHidden(newValue)
                return core.linksToTell()
            }
            tell(links)
        }
    }

    /// Whether a commit has had no answer for two seconds.
    public var isHidden: Bool { core.withLock { $0.isHidden($0.now_ns) } }
}
