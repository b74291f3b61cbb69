#if os(Linux)
import CHRTimer
import Synchronization

// Early calls: the thread that such a call resumes spins up to the deadline by itself, at the engine's cost.
extension EngineCore {
    /// Where the thread spins up to a deadline a task is to be there before it, mostly. Where it sleeps until the deadline
    /// half of the way is enough: it wakes late by more than that, so that there is hardly ever something to spin. But a
    /// watch for late fires sees the deadline that the engine's thread called for, which is to be the task's.
    static func leads(
        _ configuration: TimerEngine.Configuration,
        _ time: TimeBase,
        _ budget: SpinBudget
    ) -> Locked<SpinWindow>? {
        let isPrecise = configuration.precision == .precise
        guard isPrecise || configuration.precision == .normal && configuration.latenessWatch == nil,
            time.hasLeads
        else { return nil }
        return Locked(SpinWindow(budget: budget, coverage: isPrecise ? configuration.spinCoverage : 0.5))
    }

    /// Whether it makes early calls early.
    package var isEarly: Bool { leads != nil }

    /// The lead of a sleep of `length_ns` whose task goes on elsewhere: how long before its deadline it is called,
    /// which is what the way there takes.
    package func sleepLead(_ length_ns: Int64) -> Int64 {
        let now_ns = TimeBase.kernel.now_ns
        return leads?.withLock { hrt_spin_window_ns($0.c, length_ns, now_ns) } ?? 0
    }

    package func recordLead(_ lead_ns: Int64, ofSleep length_ns: Int64) {
        leads?.withLock { hrt_spin_window_record_wake($0.c, length_ns, lead_ns) }
    }

    /// The calling thread spins until the deadline, and records how late it is then. False if that is too far, since a
    /// clock was set back: it is to sleep again.
    ///
    /// What it spins is counted before and not after, when every instruction is lateness. Where the processor was taken away
    /// meanwhile, which is late anyway, what was not spun is taken back.
    package func spinOut(until deadline_ns: Int64) -> Bool {
        let late_ns = spin(until: deadline_ns)
        if late_ns >= 0 { state.withLock { $0.recordElsewhere(late_ns) } }
        return late_ns >= 0
    }

    /// Gives how late it is then.
    private func spin(until deadline_ns: Int64) -> Int64 {
        let begun_ns = time.now_ns
        let rest_ns = deadline_ns.subtractingSaturating(begun_ns)
        guard rest_ns > 0, rest_ns <= Self.longestSpin_ns else { return -rest_ns }
        countSpun(rest_ns)
        let (now_ns, spun_ns) = time.spin(until: deadline_ns, from: begun_ns, atMost: Self.longestSpin_ns)
        if spun_ns < rest_ns { takeBack(rest_ns - spun_ns) }
        return now_ns.subtractingSaturating(deadline_ns)
    }

    @inline(never)
    private func takeBack(_ unspun_ns: Int64) {
        countSpun(-unspun_ns)
    }

    /// Something was spun elsewhere at the engine's cost; below 0, so much less than was counted.
    package func countSpun(_ spun_ns: Int64) {
        spunOutside_ns.wrappingAdd(spun_ns, ordering: .relaxed)
        spinBudget.spend(spun_ns)
    }

    /// Further away a deadline is not what a thread woke for: its clock was set back.
    package static var longestSpin_ns: Int64 { Int64(HRT_SPIN_WINDOW_LONGEST_NS) }
}
#endif
