#if os(Linux)
/// A timer on another clock than its owner's: calls a closure when that clock comes to a deadline, and the owner fires where
/// it always does.
///
/// Its engine is the shared one for that clock, of the process or of its virtual time.
///
/// Any thread. `set(deadline_ns:)` may be called with the lock of another engine or of a loop held: the lock of the clock's
/// engine comes after it, and no closure is called with that one held.
package final class ClockAlarm: @unchecked Sendable {
    // Sendable: `token` is written by `init` alone, before the timer has a deadline that another thread could act upon.

    /// The clock of its deadlines.
    package let time: TimeBase
    private let core: EngineCore
    private var token = TimerToken.stale

    /// It has no deadline yet. `expired` is called on the engine's thread, without a lock, and not once the alarm is gone.
    package init(on time: TimeBase, _ expired: @escaping @Sendable (ClockAlarm) -> Void) {
        self.time = time
        core = Self.engine(of: time).core
        var request = TimerRequest()
        request.isOwned = true
        token = core.schedule(.handler { [weak self] _ in if let self { expired(self) } }, request)
    }

    private static func engine(of time: TimeBase) -> AnyTimerEngine {
        switch time.clock {
        case .monotonic: TimerEngine.shared(in: time)
        case .bootTime: BootTimeTimerEngine.shared(in: time)
        case .wall: WallTimerEngine.shared(in: time)
        }
    }

    /// Whether it goes by that clock, of the kernel or of the same virtual time.
    package func isOn(_ time: TimeBase) -> Bool {
        self.time.clock == time.clock && self.time.isSame(as: time)
    }

    /// Moves the deadline; `Int64.max` disarms it.
    package func set(deadline_ns: Int64) {
        _ = core.arm(token, deadline_ns: deadline_ns)
    }

    /// For good. Without a lock. `expired` is not called any more, after a call that runs.
    package func cancel() {
        _ = core.cancel(token)
    }

    deinit {
        cancel()
    }
}
#endif
