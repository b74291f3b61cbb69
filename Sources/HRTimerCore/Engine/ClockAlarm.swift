// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A timer on another clock than its owner's. It calls a closure when that clock comes to a deadline; the owner then fires
/// where it always does.
///
/// Its engine is the shared one for that clock: the process's, or that of its virtual time.
///
/// Any thread. `set(deadline_ns:)` may be called with the lock of another engine or of a loop held: the lock of the clock's
/// engine comes after that lock in the order, and no closure is called with it held.
package final class ClockAlarm: @unchecked Sendable {
    // Sendable: only `init` writes `token`, before the timer has a deadline that another thread could act upon.

    /// The clock of its deadlines.
    package let time: TimeBase
    private let core: EngineCore
    private var token = TimerToken.stale

    /// Creates an alarm without a deadline. `expired` is called on the engine's thread, without a lock, and not once the
    /// alarm is gone.
    package init(on time: TimeBase, _ expired: @escaping @Sendable (ClockAlarm) -> Void) {
        self.time = time
        core = AnyTimerEngine.shared(on: time).core
        var request = TimerRequest()
        request.isOwned = true
        token = core.schedule(.handler { [weak self] _ in if let self { expired(self) } }, request)
    }

    /// Returns whether the alarm goes by the clock of `time`: the kernel's, or that of the same virtual time.
    package func isOn(_ time: TimeBase) -> Bool {
        self.time.clock == time.clock && self.time.isSame(as: time)
    }

    /// Moves the deadline; `Int64.max` disarms it.
    package func set(deadline_ns: Int64) {
        _ = core.arm(token, deadline_ns: deadline_ns)
    }

    /// Cancels the alarm for good. Must be called without a lock held. `expired` is not called any more, except for a call
    /// that is running.
    package func cancel() {
        _ = core.cancel(token)
    }

    deinit {
        cancel()
    }
}
#endif
