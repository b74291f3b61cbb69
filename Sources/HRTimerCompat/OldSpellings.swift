#if os(Linux)
public import Dispatch
import HRTimer

/// Old spellings that Dispatch still accepts, and properties of Dispatch's sources that timers do not need.
extension DispatchSourceTimer {
    /// Schedules one fire: Dispatch's spelling before Swift 4.
    @available(*, deprecated, renamed: "schedule(deadline:leeway:)")
    public func scheduleOneshot(deadline: DispatchTime, leeway: DispatchTimeInterval = .nanoseconds(0)) {
        schedule(deadline: deadline, repeating: .never, leeway: leeway)
    }

    /// Schedules one fire by the wall clock: Dispatch's spelling before Swift 4.
    @available(*, deprecated, renamed: "schedule(wallDeadline:leeway:)")
    public func scheduleOneshot(wallDeadline: DispatchWallTime, leeway: DispatchTimeInterval = .nanoseconds(0)) {
        schedule(wallDeadline: wallDeadline, repeating: .never, leeway: leeway)
    }

    /// Schedules fires at an interval: Dispatch's spelling before Swift 4.
    @available(*, deprecated, renamed: "schedule(deadline:repeating:leeway:)")
    public func scheduleRepeating(
        deadline: DispatchTime,
        interval: DispatchTimeInterval,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// Schedules fires at an interval in seconds: Dispatch's spelling before Swift 4.
    @available(*, deprecated, renamed: "schedule(deadline:repeating:leeway:)")
    public func scheduleRepeating(
        deadline: DispatchTime,
        interval: Double,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(deadline: deadline, repeating: interval, leeway: leeway)
    }

    /// Schedules fires at an interval by the wall clock: Dispatch's spelling before Swift 4.
    @available(*, deprecated, renamed: "schedule(wallDeadline:repeating:leeway:)")
    public func scheduleRepeating(
        wallDeadline: DispatchWallTime,
        interval: DispatchTimeInterval,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    /// Schedules fires at an interval in seconds by the wall clock: Dispatch's spelling before Swift 4.
    @available(*, deprecated, renamed: "schedule(wallDeadline:repeating:leeway:)")
    public func scheduleRepeating(
        wallDeadline: DispatchWallTime,
        interval: Double,
        leeway: DispatchTimeInterval = .nanoseconds(0)
    ) {
        schedule(wallDeadline: wallDeadline, repeating: interval, leeway: leeway)
    }

    /// Always 0, and of no use for a timer source. Dispatch has a number of its own here.
    public var handle: UInt { 0 }

    /// 1 for a strict source that is not cancelled, otherwise 0. Dispatch has further bits.
    public var mask: UInt { source.isStrict && !isCancelled ? 1 : 0 }
}
#endif
