#if os(Linux)
public import HRTimerCore

extension TimerLoop {
    /// How exact the loop's timers are, unless one asks for more; `.coalesced` at first. Any thread, at any time.
    ///
    /// * `.coalesced`: one absolute kernel deadline (`timerfd_settime(2)`), and a timer's `tolerance` is used to share it. A
    ///   timer without tolerance is as exact as in `.normal`.
    /// * `.normal`: the same, and tolerances are ignored.
    /// * `.precise`: the thread has itself woken a learned spin window before each deadline, and reads the clock until it has come.
    ///   A wake, an earlier timer, `stop()` and blocks from other threads end that at once. Descriptors do not: one that
    ///   becomes ready in the spin window, tens of microseconds long, is looked at after the deadline's timers have fired.
    ///
    /// Never early in any. In a loop that a host drives (`process`, an `event_base`) the host waits, and `.precise` counts as
    /// `.normal`. On a virtual time all are exact.
    public var precision: TimerPrecision {
        get { state.withLock { $0.core.precision } }
        set { change { $0.core.precision = newValue } }
    }

    /// Processor time that the loop may spin away for precise deadlines, as a share of one core: 0 ... 1, clamped, NaN counts
    /// as 0. Where it does not suffice the spin windows shrink, down to `.normal`. Any thread.
    ///
    /// Nil, as at first: the loop shares 0.0125 with all engines and loops of the process that have no budget of their own.
    /// That is 12.5 µs a fire of a 1 kHz timer, if there is no other.
    public var spinBudget: Double? {
        get { state.withLock { $0.spinBudget } }
        set {
            let budget = newValue.map { $0 > 0 ? min($0, 1) : 0 }
            change { $0.spinBudget = budget }
        }
    }

    /// Changes what the loop waits by, and has it wait again.
    private func change(_ body: (inout LoopState) -> Void) {
        let mustWake = state.withLock { state in
            body(&state)
            return state.mustWakeNow()
        }
        if mustWake { waiter.wake() }
    }
}
#endif
