#if os(Linux)
#if compiler(>=6.3)
import CHRTimer
import HRTimer

/// How long before a deadline a thread is woken for it: by the recent wake latencies, as far as the budget allows the spin,
/// plus the time of a cache warm-up. Must be used with the lock of `Sleeps` held.
struct SleepLead: Sendable {
    private let window: SpinWindow
    let warmUp: CacheWarmUp?

    init(_ spinBudget: Double?, coverage: Double, warmsUp: Bool) {
        window = SpinWindow(budget: SpinBudget.of(spinBudget, .kernel), coverage: coverage)
        warmUp = warmsUp ? CacheWarmUp(spinBudget ?? SpinBudget.defaultShare) : nil
    }

    func ns(_ length_ns: Int64) -> Int64 {
        let now_ns = TimeBase.kernel.now_ns
        let lead_ns = hrt_spin_window_ns(window.c, length_ns, now_ns)
        guard lead_ns > 0, let warmUp else { return lead_ns }
        return lead_ns + warmUp.lead_ns(now_ns.addingSaturating(length_ns))
    }

    func record(_ latency_ns: Int64, ofSleep length_ns: Int64) {
        hrt_spin_window_record_wake(window.c, length_ns, latency_ns)
    }

    /// Records the spin of a thread that has to wait for `wait_ns`, without the time of a cache warm-up.
    func countWait(_ wait_ns: Int64) {
        let warmedUp_ns = warmUp?.lead_ns(TimeBase.kernel.now_ns) ?? 0
        if wait_ns > warmedUp_ns { window.budget.spend(wait_ns - warmedUp_ns) }
    }

    /// Takes back the part of the recorded spin that was not spun.
    func takeBack(_ unspun_ns: Int64) {
        window.budget.spend(-unspun_ns)
    }
}
#endif
#endif
