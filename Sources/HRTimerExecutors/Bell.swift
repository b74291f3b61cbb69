#if compiler(>=6.3)
import CHRTimer
import HRTimer

/// Owner of a `hrt_bell`.
final class Bell: @unchecked Sendable {
    // Sendable: the pointer is constant, and what is called with it is thread-safe.
    private let bell: OpaquePointer

    init() throws(TimerError) {
        var bell: OpaquePointer?
        try check(hrt_bell_create(&bell), "make the bell of all sleeps")
        // Made, as it did not throw.
        self.bell = bell!
    }

    deinit {
        hrt_bell_destroy(bell)
    }

    func set(_ clock: TimerClock, _ instant_ns: Int64) { hrt_bell_set(bell, clock.c, instant_ns) }
    func wait() { hrt_bell_wait(bell) }
}
#endif
