#if compiler(>=6.3)
import CHRTimer
import HRTimer

/// How long before a deadline a thread is woken for it: what waking took lately, as far as the budget pays for the spin, and
/// what a rehearsal takes. Under the lock of `Sleeps`.
struct SleepLead: Sendable {
    private let margin: SpinMargin
    let rehearsal: Rehearsal?

    init(_ spinBudget: Double, coverage: Double, rehearses: Bool) {
        margin = SpinMargin(budget: spinBudget, coverage: coverage, now_ns: TimeBase.kernel.now_ns)
        rehearsal = rehearses ? Rehearsal(spinBudget) : nil
    }

    func ns(_ length_ns: Int64) -> Int64 {
        let now_ns = TimeBase.kernel.now_ns
        let lead_ns = hrt_margin_ns(margin.c, length_ns, now_ns)
        guard lead_ns > 0, let rehearsal else { return lead_ns }
        return lead_ns + rehearsal.lead_ns(now_ns.addingSaturating(length_ns))
    }

    func record(_ latency_ns: Int64, ofSleep length_ns: Int64) {
        hrt_margin_record_wake(margin.c, length_ns, latency_ns)
    }

    /// A thread has so long to wait.
    func countWait(_ wait_ns: Int64) {
        let rehearsed_ns = rehearsal?.lead_ns(TimeBase.kernel.now_ns) ?? 0
        if wait_ns > rehearsed_ns { hrt_margin_record_spin(margin.c, wait_ns - rehearsed_ns) }
    }
}
#endif
