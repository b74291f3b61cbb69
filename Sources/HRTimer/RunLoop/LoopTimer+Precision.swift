#if os(Linux)
public import HRTimerCore

extension LoopTimer {
    /// How exact this timer is to be, if that is more than its loop is; nil, as at first, for the loop's own precision.
    ///
    /// Less than the loop's counts as the loop's. `.normal` and `.precise` leave the tolerance unused. May be set at any time,
    /// also inside the handler; it counts from the next deadline on that the loop waits for. `.precise` has the loop spin, see
    /// `TimerLoop.precision`.
    public var precision: TimerPrecision? {
        get { withState { $0.precision } }
        set {
            guard withState({ $0.precision != newValue }) else { return }
            update { state, _ in state.precision = newValue }
        }
    }
}
#endif
