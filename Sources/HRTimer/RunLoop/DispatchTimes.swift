#if os(Linux)
public import Dispatch
public import HRTimerCore

// Dispatch's types for times, wherever this library takes a time.

extension DispatchTimeInterval: TimeSpan {
    /// The same length of time as a `Duration`; for `.never` one that does not end.
    public var asDuration: Duration? { Duration(self) ?? .nanoseconds(Int64.max) }
}

extension DispatchTime: TimePoint {
    /// Returns the same instant, see `MonotonicInstant(_:)`. Ignores `time`, since Dispatch has no virtual time.
    public func instant(on time: TimeBase) -> MonotonicInstant? { MonotonicInstant(self) }
}
#endif
