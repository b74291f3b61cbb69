// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// Counts of what a timer, or all timers of an engine or loop, did so far.
///
/// A display link and a sequence of ticks have no thread of their own: what counts wake-ups and spinning is zero for them, and
/// stands in the statistics of their engine or loop.
public struct TimerStatistics: Sendable, Hashable {
    /// The number of handlers called; for a sequence, of ticks that its consumers were given.
    public var fires: UInt64 = 0
    /// Nominal deadlines that had no call of their own, also those of calls on queues and actors.
    public var missedTicks: UInt64 = 0
    /// How often the thread came back from a wait; a precise wait that woke twice counts once.
    public var wakeups: UInt64 = 0
    /// How many of the wake-ups found nothing due.
    package var spuriousWakeups: UInt64 = 0
    /// How many wake-ups were saved because one wake-up fired timers with different deadlines.
    package var wakeupsSaved: UInt64 = 0
    /// How often another thread had to wake the engine for an earlier deadline.
    package var wakesSent: UInt64 = 0
    /// The time that the thread read the clock instead of sleeping, for `.precise`, and that other threads spun on the engine's
    /// account.
    ///
    /// The difference of two readings divided by the time between them is the spun share of a core.
    public var spinTime: Duration = .zero
    /// How often the thread was to wake a spin window before a precise deadline.
    public var earlyWakes: UInt64 = 0
    /// How many of the early wakes came before the deadline: the others were later than the window was long.
    package var earlyWakesInTime: UInt64 = 0
    /// The limit that keeps the latest spin window from being longer; nil before the first window.
    public var spinLimit: SpinLimit?

    /// The causes of fires later than the least bound of `onLate(beyond:)`; empty before somebody watches.
    public var lateness = LatenessStatistics()

    /// The part of the early wakes that came before the deadline; nil before the first.
    ///
    /// To be compared with the requested `spinCoverage`.
    public var spinCoverage: Double? {
        earlyWakes == 0 ? nil : Double(earlyWakesInTime) / Double(earlyWakes)
    }

    package init(fires: UInt64 = 0, missedTicks: UInt64 = 0, lateness: LatenessStatistics = LatenessStatistics()) {
        (self.fires, self.missedTicks, self.lateness) = (fires, missedTicks, lateness)
    }
}

/// The limit that keeps a spin window from being longer.
public enum SpinLimit: Sendable, Hashable {
    /// It covers the requested part of the wakes, or all wakes for which that is worth it.
    case coverage
    /// The budget: that of its engine or loop, or that of the process.
    case budget
    /// A fire may be expected to spin at most 250 µs.
    case longestSpin
}
#endif
