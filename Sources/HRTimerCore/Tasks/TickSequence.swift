// SPDX-License-Identifier: Apache-2.0
#if os(Linux)

/// A sequence of ticks of a clock, at intervals or by a calendar: the common interface of `TimerTicks` and the calendar's
/// ticks.
public protocol TickSequence<Instant>: AsyncSequence, Sendable where Element == TimerTick<Instant>, Failure == Never {
    /// A point on the clock.
    associatedtype Instant: TimerInstant

    /// Ends the sequence for all consumers, present and later ones.
    ///
    /// Idempotent, any thread.
    func cancel()

    /// Whether `cancel()` was called.
    var isCancelled: Bool { get }
}

extension TimerTicks: TickSequence {}
#endif
