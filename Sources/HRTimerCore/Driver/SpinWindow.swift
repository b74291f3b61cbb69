// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
package import CHRTimer
import Synchronization

/// How long before a deadline a precise wait has its thread woken: `hrt_spin_window`.
///
/// The window is long enough to cover the wanted part of the coming wakes, as far as the latest ones tell, unless its
/// expected spin would exceed what the budget gives for the sleep, or 250 µs. It has learned after five wakes, separately
/// for sleeps below 0.4, 3 and 50 ms, and for all longer ones.
@safe package final class SpinWindow: @unchecked Sendable {
    // Sendable: only the thread of its engine or loop touches it, except for the outcome, which is atomic. Safe: the memory lives as long
    // as the window, and those who pass `c` on to the C core hold the window meanwhile.

    /// By default the window covers 99 wakes of 100, where the budget suffices.
    package static let defaultCoverage = 0.99

    package let budget: SpinBudget
    @safe package let c: UnsafeMutablePointer<hrt_spin_window>

    /// Whether the clock ticks so rarely that spinning gains nothing, and would last a whole tick.
    package static let clockIsCoarse = hrt_clock_tick_ns(HRT_CLOCK_MONOTONIC) > 0
    private static let hasReported = Atomic(false)

    package init(budget: SpinBudget, coverage: Double = defaultCoverage) {
        self.budget = budget
        c = .allocate(capacity: 1)
        unsafe hrt_spin_window_init(c, coverage, budget.c)
    }

    /// Notes that a precise wait is about to begin. Must be called without a lock held.
    @inline(__always)
    package func noteUse() {
        if Self.clockIsCoarse { Self.tellThatClockIsCoarse() }
    }

    @inline(never)
    private static func tellThatClockIsCoarse() {
        if hasReported.exchange(true, ordering: .relaxed) { return }
        UsageWarning.report(
            UsageWarning(
                .coarseClock,
                ".precise counts as .normal: the clock ticks every "
                    + "\(Duration.nanoseconds(hrt_clock_tick_ns(HRT_CLOCK_MONOTONIC))), clock_getres(2)"
            )
        )
    }

    /// Adds the outcome of the windows so far to the statistics. Any thread.
    package func describe(in statistics: inout TimerStatistics) {
        let outcome = unsafe hrt_spin_window_outcome(c)
        if outcome.wakes == 0 { return }
        statistics.earlyWakes = outcome.wakes
        statistics.earlyWakesInTime = outcome.covered_wakes
        statistics.spinLimit =
            switch outcome.limit {
            case HRT_SPIN_LIMIT_BUDGET: .budget
            case HRT_SPIN_LIMIT_LONGEST: .longestSpin
            default: .coverage
            }
    }

    /// Returns how late the last wake was; nil if that was taken already.
    func takeLatency() -> Int64? {
        defer { unsafe c.pointee.last_latency_ns = -1 }
        return unsafe c.pointee.last_latency_ns >= 0 ? c.pointee.last_latency_ns : nil
    }

    deinit {
        unsafe c.deallocate()
    }
}
#endif
