// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore
import HRTimerLibc

/// An application's surface whose refreshes a Wayland compositor reports: a `wl_surface` on its `wl_display`.
///
///     let shown = WaylandSurface(display: display, surface: surface)
///     let source = try VsyncSource.wayland(shown)
///     let link = DisplayLink(source: source) { _ in
///         draw()
///         source.willCommit()
///         wl_surface_commit(surface)
///     }
///
/// The application handles input on the same connection with an ordinary `LoopSource` on `wl_display_get_fd`, in any loop. The
/// `VsyncSource` dispatches only its own events. If the source, or a library such as EGL during a frame, has read events of
/// the application, the source wakes that `LoopSource` for them:
///
///     let input = try LoopSource(descriptor: wl_display_get_fd(display)) { _, _ in wl_display_dispatch(display) }
///     try loop.add(input, forMode: .common)
///
/// This covers the display's default queue. An application with another queue dispatches that queue after each frame.
///
/// Both pointers are borrowed: they must stay valid until `detach()` has returned, or the source is freed.
@safe public struct WaylandSurface: @unchecked Sendable {
    // Sendable: libwayland-client's objects may be used by any thread. Safe: only `init` takes pointers, and says how long they must be
    // valid.
    let display: OpaquePointer
    let surface: OpaquePointer

    /// Whether the source commits the surface's current state with each request, so that `willCommit()` need not be called.
    ///
    /// Set it only if no thread but that of the links commits the surface: a commit in the middle of another thread's changes
    /// would show half of them. Each commit costs the compositor a repaint.
    public var isCommittedBySource = false

    /// Whether the source reads the connection when it is readable, as EGL and every library with its own queue does.
    ///
    /// Set it to false if the loop runs between `wl_display_prepare_read` and `wl_display_read_events` of the same thread, for
    /// example because the application waits for the display and for `hostDescriptor` at once: a second reader would wait
    /// there for ever. If it is false, each call of a link takes the events that the application has read.
    public var isReadBySource = true

    /// Wraps a display and its surface: `struct wl_display *` and `struct wl_surface *`.
    public init(display: OpaquePointer, surface: OpaquePointer) {
        unsafe self.display = display
        unsafe self.surface = surface
    }
}

extension VsyncSource {
    /// What links do while the surface is hidden: minimised, covered, or on another workspace.
    ///
    /// Compositors do not report that a surface is hidden. It counts as hidden when a commit has had no answer for two
    /// seconds, which also happens while the compositor is stopped.
    public enum WhenHidden: Sendable, Hashable {
        /// The links are called as before.
        case full
        /// The links get at most this many refreshes a second.
        case rate(FrameRate)
        /// The links are not called.
        case stop
    }

    /// Opens a source of the refreshes that a Wayland compositor reports for a surface, by `wl_surface.frame` and
    /// `wp_presentation`.
    ///
    /// If timestamps are on another clock, each one is converted to `CLOCK_MONOTONIC`. If a compositor reports no
    /// presentation, its frame callbacks are used, which are exact to a millisecond. Needs libwayland-client at run time, and
    /// nothing at build time. Waits up to half a second for the compositor. Throws ENOENT without the library, ETIMEDOUT if
    /// there is no answer, EPIPE or another error if the connection is broken. When the compositor ends, the links go on, and
    /// the source waits for a new surface: `attach`.
    public static func wayland(_ surface: WaylandSurface) throws(TimerError) -> VsyncSource {
        try openWayland(surface, refusals: [])
    }

    static func openWayland(_ surface: WaylandSurface, refusals: [Refusal]) throws(TimerError) -> VsyncSource {
        let driver = try unsafe CVsyncDriver.wayland(surface, answerWithin_ms: 500)
        return VsyncSource(kind: .wayland, driver: driver, refusals: refusals, reopen: nil)
    }

    /// Tells the source that the calling thread is about to commit the Wayland surface.
    ///
    /// Must be called before each commit.
    ///
    /// If the source needs a report, it requests a frame callback and a presentation with that commit, at most two requests.
    /// Does nothing for sources of other kinds, and for surfaces that the source commits itself.
    public func willCommit() {
        guard kind == .wayland, !isInForkedChild else { return }
        core.withLock { $0.willCommit($0.now_ns) }
    }

    /// Replaces the former surface and releases it, after the compositor has ended or for another window.
    ///
    /// Throws the errors of `wayland(_:)`, and then keeps the former surface. Throws EINVAL if the source is of another kind.
    public func attach(_ surface: WaylandSurface) throws(TimerError) {
        guard kind == .wayland, !isInForkedChild else {
            throw TimerError(operation: "attach a surface to a source that is not of one", errorNumber: EINVAL)
        }
        let driver = try unsafe CVsyncDriver.wayland(surface, answerWithin_ms: 500)
        detach()
        hasOpened(driver)
    }

    /// Releases the surface and the display, which may be destroyed once this has returned.
    ///
    /// Links go on as if the compositor had ended. Does nothing for sources of other kinds. Idempotent.
    public func detach() {
        guard kind == .wayland, !isInForkedChild else { return }
        let (gone, links) = core.withLock { core in (core.detach(), core.linksToNotify()) }
        gone?.hosting?.source.invalidate()
        withExtendedLifetime(gone) {}
        notify(links)
    }

    /// What the links do while the surface is hidden; by default they are called as before.
    ///
    /// Normal calls resume with the first refresh that the compositor reports again. Only Wayland surfaces are ever hidden.
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
