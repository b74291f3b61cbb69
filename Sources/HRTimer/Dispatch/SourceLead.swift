import CHRTimer
import HRTimerCore

/// How long before its deadline a precise source submits a call to its queue, so that the block has begun by then and spins the
/// rest out: what covers nine of ten of the hops seen lately, from the instant meant for the submission to the begin of the
/// block, and no more than the engine's budget for spinning gives (`hrt_margin`).
///
/// Under the engine's lock.
struct SourceLead: Sendable {
    private let margin: SpinMargin
    private var sleep_ns: Int64 = 0
    /// Of the present arming; 0 without one.
    private(set) var lead_ns: Int64 = 0
    /// For the deadline after that of the call that is on its way.
    private var plan: (deadline_ns: Int64, sleep_ns: Int64, lead_ns: Int64)?

    init(budget: Double, now_ns: Int64) {
        margin = SpinMargin(budget: budget, now_ns: now_ns)
    }

    /// When the engine is to submit the call for `deadline_ns`.
    mutating func instant_ns(before deadline_ns: Int64, now_ns: Int64) -> Int64 {
        guard deadline_ns < .max else { return .max }
        if let plan, plan.deadline_ns == deadline_ns {
            // As the engine knows it.
            (sleep_ns, lead_ns) = (plan.sleep_ns, plan.lead_ns)
        } else {
            sleep_ns = max(0, deadline_ns.subtractingSaturating(now_ns))
            lead_ns = hrt_margin_ns(margin.c, sleep_ns, now_ns)
        }
        plan = nil
        return deadline_ns.subtractingSaturating(lead_ns)
    }

    /// The same for a deadline to come, while another call is on its way.
    mutating func plan_ns(before deadline_ns: Int64, now_ns: Int64) -> Int64 {
        let sleep_ns = max(0, deadline_ns.subtractingSaturating(now_ns))
        let lead_ns = hrt_margin_ns(margin.c, sleep_ns, now_ns)
        plan = (deadline_ns, sleep_ns, lead_ns)
        return deadline_ns.subtractingSaturating(lead_ns)
    }

    /// The block of the call for `deadline_ns` has begun. Gives whether it has to wait for that.
    func begin(_ deadline_ns: Int64, now_ns: Int64) -> Bool {
        let hop_ns = now_ns.subtractingSaturating(deadline_ns.subtractingSaturating(lead_ns))
        hrt_margin_record_wake(margin.c, sleep_ns, max(0, hop_ns))
        return now_ns < deadline_ns && deadline_ns.subtractingSaturating(now_ns) <= lead_ns
    }

    func spun(_ spun_ns: Int64) {
        hrt_margin_record_spin(margin.c, spun_ns)
    }
}

extension SourceCore {
    /// On the target, with the lock held: the deadline of the call that has come too early, if it has.
    var deadlineToSpinTo: Int64? {
        guard let rare = state.rare, rare.alarm == nil, let lead = rare.lead else { return nil }
        let deadline_ns = state.ticks.deadline_ns
        return lead.begin(deadline_ns, now_ns: core.time.now_ns) ? deadline_ns : nil
    }

    /// Spins up to the deadline, and takes the call then. Never longer than the lead; a source that is cancelled, suspended or moved
    /// meanwhile is not called, or not yet.
    func spinOut(until deadline_ns: Int64, _ take: () -> Callback?) -> Callback? {
        let begun_ns = core.time.now_ns
        var seen_ns = begun_ns
        while seen_ns < deadline_ns { seen_ns = core.time.now_ns }
        // The engine spins so much less: together they keep the budget.
        core.countSpun(seen_ns - begun_ns)
        return withLock { _ in
            close()
            state.rare?.lead?.spun(seen_ns - begun_ns)
            return take()
        }
    }
}
