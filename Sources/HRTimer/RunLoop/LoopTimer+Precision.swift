public import HRTimerCore

extension LoopTimer {
    /// How exact this timer is to be, if that is more than its loop is; nil, as at first, for the loop's own precision.
    ///
    /// Less than the loop's counts as the loop's. `.normal` and `.precise` leave the tolerance unused. May be set at any time,
    /// also inside the handler; it counts from the next deadline on that the loop waits for. `.precise` has the loop spin, see
    /// `TimerLoop.precision`.
    public var precision: TimerPrecision? {
        get { state.withLock { $0.precision } }
        set {
            update { state, loop in
                guard state.precision != newValue else { return false }
                state.precision = newValue
                return loop.map { Self.rearm(&state, $0) } ?? false
            }
        }
    }
}

extension LoopTimer.State {
    /// What the loop is asked for.
    var arming: LoopState.Arming {
        LoopState.Arming(
            deadline_ns: deadline_ns,
            tolerance_ns: (precision ?? .coalesced) == .coalesced ? tolerance_ns : 0,
            isPrecise: precision == .precise
        )
    }
}
