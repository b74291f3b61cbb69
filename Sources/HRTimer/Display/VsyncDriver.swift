// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import CVsync
import HRTimerCore

/// A driver that reports a display's refreshes, one for each request; see CVsync.h. It is used with its source's lock held.
protocol VsyncDriver: AnyObject, Sendable {
    /// A descriptor that is readable when there may be something to take.
    var descriptor: Int32 { get }
    /// The rate that the driver claims; a hint.
    var toldRate: FrameRate? { get }
    /// The time of its answers: the kernel's or, in tests, a virtual one. A loop on another time cannot watch the driver.
    var timeID: TimeID { get }

    /// Requests the refresh that comes this many refreshes after the last reported one. Returns 0 or a negative errno.
    func request(_ refreshes: Int64) -> Int32

    /// Takes an answer. Returns 1, 0 if there is no answer yet, or a negative errno if the driver is lost.
    func take(_ sample: inout vs_sample) -> Int32

    /// Takes an answer like `take(_:)`, but from a connection that others read, too, only what they have read.
    func takeRead(_ sample: inout vs_sample) -> Int32

    /// Returns what other readers of the connection can no longer learn from its descriptor; reports each reading once.
    func takeOthers() -> SharedReading?

    /// Who makes the commits that requests need; nil if the refreshes are not those of a surface.
    var commits: SurfaceCommits? { get }

    /// Announces the next commit of a surface that the application commits. Returns 1 if that commit carries the request, 2 if
    /// it carries another callback that shows whether the surface is visible, else 0.
    func willCommit() -> Int32

    /// Releases a surface and its connection; the driver is lost then.
    func detach()
}

/// Who commits a surface whose refreshes are reported. Such a source differs from others: a refresh is reported only after a
/// commit, so each one needs a request; others read the connection, too; and nothing is reported for a hidden surface.
enum SurfaceCommits: Sendable {
    case application
    case source
}

/// A reading of the application's connection: an earlier result of poll(2) for its descriptor is outdated.
struct SharedReading {
    /// The application's descriptor.
    let descriptor: Int32
    /// Whether events of the application were read and wait to be dispatched.
    let othersWait: Bool
}

extension VsyncDriver {
    func takeRead(_ sample: inout vs_sample) -> Int32 { take(&sample) }
    func takeOthers() -> SharedReading? { nil }
    var commits: SurfaceCommits? { nil }
    func willCommit() -> Int32 { 0 }
    func detach() {}
}

/// A driver around a source of the C library.
@safe final class CVsyncDriver: VsyncDriver, @unchecked Sendable {
    // Sendable: its users hold the lock of the `VsyncSource`, and only the release of the last reference closes the source. Safe for the
    // same reason.
    private let source: OpaquePointer
    let commits: SurfaceCommits?
    private let generation = hrt_fork_generation()

    /// Creates a driver around the source that `open` returns; the driver closes it in the end.
    private init(
        commits: SurfaceCommits? = nil,
        _ open: (inout OpaquePointer?, inout UnsafePointer<CChar>?) -> Int32
    ) throws(TimerError) {
        var source: OpaquePointer?
        var failure: UnsafePointer<CChar>?
        // Safe: the text of a failure is a constant of the C library.
        let status = unsafe open(&source, &failure)
        let operation = unsafe failure.map { unsafe String(cString: $0) } ?? "open a source of refreshes"
        guard status == 0, let source = unsafe source else {
            throw TimerError(operation: operation, errorNumber: -status)
        }
        unsafe self.source = source
        self.commits = commits
    }

    deinit {
        // In a forked child, closing would end the parent's connection.
        if generation == hrt_fork_generation() { unsafe vs_close(source) }
    }

    /// Opens a source of an X server's refreshes, for the display at the position, in pixels.
    static func x11(
        _ display: String?,
        x: Int,
        y: Int,
        answerWithin_ms: Int32
    ) throws(TimerError) -> CVsyncDriver {
        try unsafe CVsyncDriver { source, failure in
            unsafe vs_x11_open(display, Int16(clamping: x), Int16(clamping: y), answerWithin_ms, &source, &failure)
        }
    }

    /// Opens a source of a card's refreshes. `calls` is nil except in tests, and must live as long as the process.
    static func drm(_ card: String?, calls: UnsafePointer<vs_drm_calls>? = nil) throws(TimerError) -> CVsyncDriver {
        try unsafe CVsyncDriver { source, failure in unsafe vs_drm_open(card, calls, &source, &failure) }
    }

    /// Opens a source of a surface's refreshes. `library` is nil except in tests, and must live as long as the process.
    static func wayland(
        _ surface: WaylandSurface,
        answerWithin_ms: Int32,
        library: UnsafePointer<vs_wl>? = nil
    ) throws(TimerError) -> CVsyncDriver {
        let commits: SurfaceCommits = surface.isCommittedBySource ? .source : .application
        let flags =
            (surface.isCommittedBySource ? Int32(VS_WAYLAND_COMMITS) : 0)
            | (surface.isReadBySource ? Int32(VS_WAYLAND_READS) : 0)
        // Safe: the application keeps both, as `WaylandSurface` demands.
        let (display, proxy) = unsafe (
            UnsafeMutableRawPointer(surface.display), UnsafeMutableRawPointer(surface.surface)
        )
        return try unsafe CVsyncDriver(commits: commits) { source, failure in
            unsafe vs_wayland_open(display, proxy, flags, answerWithin_ms, library, &source, &failure)
        }
    }

    var descriptor: Int32 { unsafe vs_descriptor(source) }
    var timeID: TimeID { TimeBase.kernel.id }

    var toldRate: FrameRate? {
        var (numerator, denominator): (Int64, Int64) = (0, 1)
        unsafe vs_told_rate(source, &numerator, &denominator)
        return numerator > 0 ? FrameRate(numerator, denominator) : nil
    }

    func request(_ refreshes: Int64) -> Int32 { unsafe vs_request(source, UInt64(max(1, refreshes))) }

    func take(_ sample: inout vs_sample) -> Int32 { unsafe vs_take(source, &sample) }

    func takeRead(_ sample: inout vs_sample) -> Int32 {
        unsafe commits == nil ? take(&sample) : vs_wayland_take_read(source, &sample)
    }

    func takeOthers() -> SharedReading? {
        guard commits != nil else { return nil }
        let found = unsafe vs_wayland_others(source)
        if found == 0 { return nil }
        return unsafe SharedReading(
            descriptor: vs_wayland_connection(source),
            othersWait: found & Int32(VS_WAYLAND_OTHERS_WAIT) != 0
        )
    }

    func willCommit() -> Int32 { unsafe commits == nil ? 0 : vs_wayland_will_commit(source) }

    func detach() {
        if commits != nil { unsafe vs_wayland_detach(source) }
    }
}
#endif
