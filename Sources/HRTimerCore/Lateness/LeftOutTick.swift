#if os(Linux)
/// A tick that its policy left out, since it was late by an interval or more. The core notes it with its lock held; its driver
/// reports it without.
package struct LeftOutTick: Sendable {
    package let timer: TimerToken
    package let owner: (any TimerOwner)?
    /// The deadline, from which it was late, and the instant from which anybody could know, on the driver's clock.
    package let deadline_ns: Int64
    package let lateFrom_ns: Int64
    /// When it was left out.
    package let leftOut_ns: Int64
    /// The number of ticks that were left out with it, itself included.
    package let missedTicks: Int
    package let tolerance_ns: Int64
}
#endif
