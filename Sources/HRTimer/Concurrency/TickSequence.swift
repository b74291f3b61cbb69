#if os(Linux)
public import HRTimerCore

/// A sequence of ticks of a clock, at intervals or by a calendar: what `TimerTicks` and the calendar's ticks have in common.
public protocol TickSequence<Instant>: AsyncSequence, Sendable where Element == TimerTick<Instant>, Failure == Never {
    /// A point on the clock.
    associatedtype Instant: TimerInstant

    /// Ends it for all consumers, now and later. Idempotent, any thread.
    func cancel()

    /// Whether `cancel()` was called.
    var isCancelled: Bool { get }
}

extension TimerTicks: TickSequence {}
#endif
