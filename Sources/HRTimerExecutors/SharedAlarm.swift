#if os(Linux)
#if compiler(>=6.3)
import CHRTimer
import HRTimer

/// The owner of a `hrt_shared_alarm`.
final class SharedAlarm: @unchecked Sendable {
    // Sendable: the pointer is constant, and the functions called with it are thread-safe.
    private let sharedAlarm: OpaquePointer

    init() throws(TimerError) {
        var sharedAlarm: OpaquePointer?
        try check(hrt_shared_alarm_create(&sharedAlarm), "make the alarm of all sleeps")
        // Not nil: the call did not throw.
        self.sharedAlarm = sharedAlarm!
    }

    deinit {
        hrt_shared_alarm_destroy(sharedAlarm)
    }

    func set(_ clock: TimerClock, _ instant_ns: Int64) { hrt_shared_alarm_set(sharedAlarm, clock.c, instant_ns) }
    func wait() { hrt_shared_alarm_wait(sharedAlarm) }
}
#endif
#endif
