// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// How exact a timer is to be, and at what price.
///
/// An engine or a loop has one precision for all its timers; a timer may request more.
public enum TimerPrecision: Int, Sendable, Hashable, CaseIterable, Comparable {
    /// Tolerances are used: timers whose windows, from the deadline to the deadline plus tolerance, overlap share one wake-up,
    /// at the earliest end of a window.
    ///
    /// A timer never fires before its deadline, and after the end of its window by the wake latency alone.
    case coalesced
    /// The kernel is armed for each deadline, whatever the tolerance.
    ///
    /// A timer is late by the kernel's wake latency. A sleeping task that resumes on another thread is called early, by a
    /// learned lead that suffices in half of all cases; if it is there before the deadline, it spins until then. Not so
    /// in an engine that records each fire's lateness for metrics.
    case normal
    /// The thread wakes a little before the deadline and reads the clock until the deadline has come.
    ///
    /// How much before follows from the latest wake latencies, within the `spinBudget` of the engine or loop; in a long sleep
    /// the thread may wake twice. Most fires are late by less than a microsecond at 1 kHz. In the last 4 µs before its deadline
    /// a call can no longer be cancelled or moved, as if its handler ran already. On a clock that ticks once a millisecond or
    /// so, as in some containers, `.precise` counts as `.normal`, which is reported once (`UsageWarning`).
    case precise

    /// Orders precisions from cheap to exact.
    public static func < (left: TimerPrecision, right: TimerPrecision) -> Bool {
        left.rawValue < right.rawValue
    }
}
#endif
