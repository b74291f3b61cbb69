#if os(Linux)
public import HRTimerCore
import HRTimerLibc

/// A surface of the application's whose refreshes a Wayland compositor reports: a `wl_surface` on its `wl_display`.
///
///     let shown = WaylandSurface(display: display, surface: surface)
///     let source = try VsyncSource.wayland(shown)
///     let link = DisplayLink(source: source) { _ in
///         draw()
///         source.willCommit()
///         wl_surface_commit(surface)
///     }
///
/// Input on the same connection goes to a plain `LoopSource` of the application's on `wl_display_get_fd`, in any loop:
/// the source dispatches its own events alone, and wakes that `LoopSource` for the application's events that were read
/// meanwhile, by the source or in a frame, as by EGL:
///
///     let input = try LoopSource(descriptor: wl_display_get_fd(display)) { _, _ in wl_display_dispatch(display) }
///     try loop.add(input, forMode: .common)
///
/// That applies to the display's default queue; an application with another queue dispatches that after each frame.
///
/// Both pointers are borrowed: they must stay valid until `detach()` has returned, or the source is freed.
public struct WaylandSurface: @unchecked Sendable {
    // Sendable: libwayland-client's objects may be used by any thread.
    let display: OpaquePointer
    let surface: OpaquePointer

    /// Whether the source commits the surface's current state with each request, so that `willCommit()` need not be
    /// called. Only for a surface that the links' thread alone commits: a commit in the midst of another thread's
    /// changes would show half of them. Each commit costs the compositor a repaint.
    public var isCommittedBySource = false

    /// Whether the source reads the connection when it is readable, as EGL does and every library with a queue of its
    /// own. Set it to false where the loop runs between `wl_display_prepare_read` and `wl_display_read_events` of the
    /// same thread, as when an application waits for the display and for `hostDescriptor` at once: a second reader
    /// would wait there for ever. Then each call of a link takes what the application has read.
    public var isReadBySource = true

    /// A surface and its display: `struct wl_display *` and `struct wl_surface *`.
    public init(display: OpaquePointer, surface: OpaquePointer) {
        self.display = display
        self.surface = surface
    }
}

extension VsyncSource {
    /// What links do while the surface is hidden: minimised, covered, on another workspace. Compositors do not report
    /// that: a surface counts as hidden when a commit has no answer for two seconds, which also happens while the
    /// compositor is stopped.
    public enum WhenHidden: Sendable, Hashable {
        /// Calls go on as before.
        case full
        /// At most that many refreshes a second.
        case rate(FrameRate)
        /// No calls.
        case stop
    }

    /// The refreshes that a Wayland compositor reports for a surface, by `wl_surface.frame` and `wp_presentation`.
    ///
    /// Timestamps of another clock are converted to `CLOCK_MONOTONIC` one by one. If a compositor reports no
    /// presentation, its frame callbacks are used, exact to a millisecond. Needs libwayland-client at run time, nothing
    /// at build time. Waits up to half a second for the compositor. Throws ENOENT without the library, ETIMEDOUT if
    /// there is no answer, EPIPE or another error of the connection. When the compositor ends, the links go on, and the
    /// source waits for a new surface: `attach`.
    public static func wayland(_ surface: WaylandSurface) throws(TimerError) -> VsyncSource {
        try openWayland(surface, refusals: [])
    }

    static func openWayland(_ surface: WaylandSurface, refusals: [Refusal]) throws(TimerError) -> VsyncSource {
        let driver = try CVsyncDriver.wayland(surface, answerWithin_ms: 500)
        return VsyncSource(kind: .wayland, driver: driver, refusals: refusals, reopen: nil)
    }

    /// To be called before each commit of a Wayland surface, by the thread that commits: if the source needs to know,
    /// it requests a frame callback and a presentation with that commit, two requests at most. Sources of other kinds,
    /// and of surfaces that the source commits, do nothing.
    public func willCommit() {
        guard kind == .wayland, !isInForkedChild else { return }
        core.withLock { $0.willCommit($0.now_ns) }
    }

    /// Replaces the former surface, which is released: after the compositor ended, or for another window. Throws as
    /// `wayland(_:)`, and then keeps the former surface; EINVAL if the source is of another kind.
    public func attach(_ surface: WaylandSurface) throws(TimerError) {
        guard kind == .wayland, !isInForkedChild else {
            throw TimerError(operation: "attach a surface to a source that is not of one", errorNumber: EINVAL)
        }
        let driver = try CVsyncDriver.wayland(surface, answerWithin_ms: 500)
        detach()
        hasOpened(driver)
    }

    /// Releases surface and display, which may be destroyed when this has returned. Links go on as if the compositor
    /// had ended. Sources of other kinds do nothing. Idempotent.
    public func detach() {
        guard kind == .wayland, !isInForkedChild else { return }
        let (gone, links) = core.withLock { core in (core.detach(), core.linksToNotify()) }
        gone?.hosting?.source.invalidate()
        withExtendedLifetime(gone) {}
        notify(links)
    }

    /// What the links do while the surface is hidden; by default they go on. They are called as before from the first
    /// refresh that the compositor reports again. Only surfaces are ever hidden.
    public var whenHidden: WhenHidden {
        get { core.withLock { $0.whenHidden } }
        set {
            let links = core.withLock { core in
                core.setWhenHidden(newValue)
                return core.linksToNotify()
            }
            notify(links)
        }
    }

    /// Whether a commit has had no answer for two seconds.
    public var isHidden: Bool { core.withLock { $0.isHidden($0.now_ns) } }
}
#endif
