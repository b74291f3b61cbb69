// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import Synchronization

// Early calls: the thread that an early call resumes spins up to the deadline by itself, on the engine's account.
extension EngineCore {
    /// Returns the leads of an engine that makes early calls; nil for any other. On a precise engine, whose thread spins up
    /// to deadlines, a lead suffices in most cases (`spinCoverage`). If the thread sleeps until deadlines, half of the
    /// cases are enough: it wakes late by more than the lead, so that a task hardly ever has to spin. Such an engine has no
    /// leads if it has a watch for late fires, which sees the deadline that the thread called for: that must be the task's.
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

    /// Whether the engine makes calls early.
    package var isEarly: Bool { leads != nil }

    /// Returns the lead of a sleep of `length_ns` whose task continues elsewhere: how long before its deadline the task is
    /// called, which is the time that the way there takes.
    package func sleepLead(_ length_ns: Int64) -> Int64 {
        let now_ns = TimeBase.kernel.now_ns
        return leads?.withLock { unsafe hrt_spin_window_ns($0.c, length_ns, now_ns) } ?? 0
    }

    package func recordLead(_ lead_ns: Int64, ofSleep length_ns: Int64) {
        leads?.withLock { unsafe hrt_spin_window_record_wake($0.c, length_ns, lead_ns) }
    }

    /// Notes that the code which an early call on the engine's thread has resumed is about to spin. What it took since the wake, which
    /// for a task on a cold processor is tens of µs, becomes a part of the window. The engine's thread.
    package func noteReady() {
        // Most sleeps end without a spin window: they need no reading of the clock.
        guard unsafe window.c.pointee.woken_ns > .min else { return }
        unsafe hrt_spin_window_record_ready(window.c, time.now_ns)
    }

    /// Spins on the calling thread until the deadline, and records how late the thread is then. Returns false if the
    /// deadline is too far, since a clock was set back: the caller must sleep again.
    ///
    /// The time is counted as spun before the spin, because after the spin every instruction is lateness. If the processor
    /// was taken away meanwhile, so that the thread is late anyway, the time that was not spun is taken back.
    package func spinOut(until deadline_ns: Int64) -> Bool {
        let late_ns = spin(until: deadline_ns)
        if late_ns >= 0 { state.withLock { $0.recordElsewhere(late_ns) } }
        return late_ns >= 0
    }

    /// Spins until the deadline. Returns how late the thread is then, below 0 if the deadline is too far.
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

    /// Counts time that was spun elsewhere on the engine's account; a negative value takes back what was counted too much.
    package func countSpun(_ spun_ns: Int64) {
        spunOutside_ns.wrappingAdd(spun_ns, ordering: .relaxed)
        spinBudget.spend(spun_ns)
    }

    /// The longest spin. A deadline further away is not the one that a thread woke for: its clock was set back.
    package static var longestSpin_ns: Int64 { Int64(HRT_SPIN_WINDOW_LONGEST_NS) }
}
#endif
