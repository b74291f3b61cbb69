#if os(Linux)
public import Dispatch
public import HRTimerCore

// Dispatch's spellings of a time, wherever one is taken.

extension DispatchTimeInterval: TimeSpan {
    /// The same duration; for `.never` one that does not end.
    public var asDuration: Duration? { Duration(self) ?? .nanoseconds(Int64.max) }
}

extension DispatchTime: TimePoint {
    /// The same instant, see `MonotonicInstant(_:)`; `time` is ignored, since Dispatch has no virtual one.
    public func instant(on time: TimeBase) -> MonotonicInstant? { MonotonicInstant(self) }
}
#endif
