package import CHRTimer
import Synchronization

/// How long before a deadline a precise wait has itself woken: `hrt_spin_window`.
///
/// As long as covers the wanted part of the wake latencies seen lately, and where that is cheap, as at the rates of
/// frames, 99 of 100; but never more than is expected to spin a 96th of the unspent budget, at most 13 µs a fire by
/// default. It has learned after five wakes, for sleeps below 0.2, 3 and 50 ms and the rest apart.
package final class SpinWindow: @unchecked Sendable {
    // Sendable: the thread of its engine or loop alone touches it.

    /// Nine wakes of ten come within it, and more where they cost little.
    package static let defaultCoverage = 0.9

    /// The fraction of one core that an engine or a loop spins away by default: 12.5 µs a fire of a 1 kHz timer.
    package static let defaultBudget = 0.0125

    package let c: UnsafeMutablePointer<hrt_spin_window>

    /// Where the clock ticks seldom, spinning gains nothing, and would last a whole tick.
    private static let clockIsCoarse = hrt_clock_tick_ns(HRT_CLOCK_MONOTONIC) > 0
    private static let hasTold = Atomic(false)

    package init(budget: Double, coverage: Double = defaultCoverage, now_ns: Int64) {
        c = .allocate(capacity: 1)
        hrt_spin_window_init(c, coverage, Self.clockIsCoarse ? 0 : budget, now_ns)
    }

    package func setBudget(_ budget: Double) {
        hrt_spin_window_set_budget(c, Self.clockIsCoarse ? 0 : budget)
    }

    /// A precise wait is about to begin. Without a lock.
    @inline(__always)
    package func noteUse() {
        if Self.clockIsCoarse { Self.tellThatClockIsCoarse() }
    }

    @inline(never)
    private static func tellThatClockIsCoarse() {
        if hasTold.exchange(true, ordering: .relaxed) { return }
        UsageWarning.report(
            UsageWarning(
                .coarseClock,
                ".precise counts as .normal: the clock ticks every "
                    + "\(Duration.nanoseconds(hrt_clock_tick_ns(HRT_CLOCK_MONOTONIC))), clock_getres(2)"
            )
        )
    }

    /// How late the last wake was; nil if that was taken already.
    func takeLatency() -> Int64? {
        defer { c.pointee.last_latency_ns = -1 }
        return c.pointee.last_latency_ns >= 0 ? c.pointee.last_latency_ns : nil
    }

    deinit {
        c.deallocate()
    }
}
