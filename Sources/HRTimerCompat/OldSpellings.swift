#if os(Linux)
public import Dispatch
import HRTimer

/// Old spellings that Dispatch still accepts, and properties of a source that timers do not need.
extension DispatchSourceTimer {
    /// Dispatch's spelling before Swift 4: no repetition.
    @available(*, deprecated, renamed: "schedule(deadline:leeway:)")
    public func scheduleOneshot(deadline: DispatchTime, leeway: DispatchTimeInterval = .nanoseconds(0)) {
        schedule(deadline: deadline, repeating: .never, leeway: leeway)
    }

    /// The same on the time of day.
    @available(*, deprecated, renamed: "schedule(wallDeadline:leeway:)")
    public func scheduleOneshot(wallDeadline: DispatchWallTime, leeway: DispatchTimeInterval = .nanoseconds(0)) {
        schedule(wallDeadline: wallDeadline, repeating: .never, leeway: leeway)
    }

    /// Dispatch's spelling before Swift 4.
    @available(*, deprecated, renamed: "schedule(deadline:repeating:leeway:)")
    public func scheduleRepeating(
        deadline: DispatchTime,
        interval: DispatchTimeInterval,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// The same with an interval in seconds.
    @available(*, deprecated, renamed: "schedule(deadline:repeating:leeway:)")
    public func scheduleRepeating(
        deadline: DispatchTime,
        interval: Double,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// The same on the time of day.
    @available(*, deprecated, renamed: "schedule(wallDeadline:repeating:leeway:)")
    public func scheduleRepeating(
        wallDeadline: DispatchWallTime,
        interval: DispatchTimeInterval,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    /// The same on the time of day with an interval in seconds.
    @available(*, deprecated, renamed: "schedule(wallDeadline:repeating:leeway:)")
    public func scheduleRepeating(
        wallDeadline: DispatchWallTime,
        interval: Double,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    /// Of no use for a timer source: always 0, where Dispatch has a number of its own.
    public var handle: UInt { 0 }

    /// 1 for a strict source that is not cancelled, else 0; Dispatch has further bits.
    public var mask: UInt { source.isStrict && !isCancelled ? 1 : 0 }
}
#endif
