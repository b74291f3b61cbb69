#if os(Linux)
public import HRTimerCore

extension LoopTimer {
    /// The precision of this timer, if that is higher than the precision of its loop; nil, the default, for the loop's own.
    ///
    /// A lower one than the loop's counts as the loop's. `.normal` and `.precise` do not use the tolerance. May be set at any
    /// time, also inside the handler. It counts from the next deadline for which the loop waits. `.precise` makes the loop
    /// spin, see `TimerLoop.precision`.
    public var precision: TimerPrecision? {
        get { withState { $0.precision } }
        set {
            guard withState({ $0.precision != newValue }) else { return }
            update { state, _ in state.precision = newValue }
        }
    }
}
#endif
