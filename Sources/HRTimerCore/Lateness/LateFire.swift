// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// What is known of a late fire, and what follows from that. Sans-I/O: instants are on one clock that is never set.
package struct LateFire: Sendable {
    /// The deadline, from which it is late, and the instant from which anybody could know: later if the timer was armed later.
    package var deadline_ns: Int64
    package var lateFrom_ns: Int64
    package var called_ns: Int64
    /// Whether a loop made the call: a loop does more than call timers.
    package var isLoop = false
    /// How much later than its deadline it may be on purpose.
    package var tolerance_ns: Int64 = 0
    /// How far the clock was set forward past the deadline, and how long the system has been suspended since.
    package var step_ns: Int64 = 0
    package var suspended_ns: Int64 = 0
    package var evidence = Evidence()

    /// What the kernel has counted since an earlier reading.
    package struct Evidence: Sendable, Hashable {
        /// How long the thread waited for a processor, at least, within this fire's lateness.
        package var runDelay_ns: Int64 = 0
        /// How long its page faults took.
        package var faults_ns: Int64 = 0
        /// How much longer it was awake than it ran or waited for a processor.
        package var gap_ns: Int64 = 0
        /// The processor time that the host took meanwhile.
        package var stolen_ns: Int64 = 0
        /// How long the quota of its cgroup kept threads from running meanwhile.
        package var throttled_ns: Int64 = 0
        /// Whether it gave up the processor by itself more often than it parked.
        package var mayHaveStopped = false

        package init() {}
    }

    package init(deadline_ns: Int64, lateFrom_ns: Int64 = .min, called_ns: Int64) {
        self.deadline_ns = deadline_ns
        self.lateFrom_ns = max(deadline_ns, lateFrom_ns)
        self.called_ns = called_ns
    }
}

/// A fire's lateness with its causes, and what else was seen on the way.
package struct LatenessExplanation: Sendable {
    package var parts: LatenessParts
    /// When the thread last woke, as far back as is known.
    package var woken_ns: Int64?
    /// The longest call that ran while the fire was due.
    package var before: ThreadTimeline.Stretch?
}

extension LateFire {
    /// The time that the library takes from waking to a call, through cold caches. It counts as part of the wake-up.
    static let wayToCall_ns: Int64 = 20_000
    /// Leaving an idle state never takes this long (the kernel's cpuidle tables end below 1 ms).
    static let longestWakeup_ns: Int64 = 1_000_000

    /// Returns the causes of the lateness, by what the thread did meanwhile.
    package func explained(by timeline: borrowing ThreadTimeline) -> LatenessExplanation {
        var parts = LatenessParts(called_ns.subtractingSaturating(deadline_ns))
        parts.take(lateFrom_ns.subtractingSaturating(deadline_ns), for: .armedLate)
        parts.take(step_ns, for: .clockStep)
        parts.take(suspended_ns, for: .suspended)
        let doings = timeline.doings(from: called_ns.subtractingSaturating(parts.rest_ns), to: called_ns)
        parts.take(doings.mayWait_ns, isLoop, tolerance_ns)
        split(doings, &parts)
        parts.finish()
        return LatenessExplanation(parts: parts, woken_ns: doings.woken_ns, before: doings.longestCall)
    }

    private func split(_ doings: ThreadTimeline.Doings, _ parts: inout LatenessParts) {
        var (asleep_ns, awake_ns, calls_ns) = (doings.asleep_ns, doings.awake_ns, doings.calls_ns)
        func move(_ part_ns: Int64, of time_ns: inout Int64, to cause: LatenessCause) {
            let moved_ns = min(max(0, part_ns), time_ns)
            time_ns -= moved_ns
            parts.take(moved_ns, for: cause)
        }
        let queued_ns = min(evidence.runDelay_ns, asleep_ns)
        move(queued_ns, of: &asleep_ns, to: .runQueue)
        let runDelay_ns = evidence.runDelay_ns - queued_ns
        let preempted_ns = min(runDelay_ns, awake_ns)
        move(preempted_ns, of: &awake_ns, to: .preempted)
        // For the rest of that time handlers before this call were preempted.
        move(runDelay_ns - preempted_ns, of: &calls_ns, to: .preempted)
        let faulted_ns = faults(awake_ns.addingSaturating(calls_ns))
        let inCalls_ns = min(faulted_ns, calls_ns)
        move(inCalls_ns, of: &calls_ns, to: .pageFault)
        move(faulted_ns - inCalls_ns, of: &awake_ns, to: .pageFault)
        move(calls_ns, of: &calls_ns, to: .handlerBefore)
        // Since 6.18 a throttled thread is taken off at its return to user space, and does not count as waiting
        // (kernel/sched/fair.c).
        move(min(evidence.throttled_ns, evidence.gap_ns), of: &awake_ns, to: .runQueue)
        move(evidence.gap_ns - evidence.throttled_ns, of: &awake_ns, to: .stolen)
        if asleep_ns >= Self.longestWakeup_ns {
            move(evidence.throttled_ns, of: &asleep_ns, to: .runQueue)
            if evidence.mayHaveStopped { move(asleep_ns, of: &asleep_ns, to: .stopped) }
            move(evidence.stolen_ns, of: &asleep_ns, to: .stolen)
        }
        move(asleep_ns, of: &asleep_ns, to: .wakeup)
        if isLoop { move(awake_ns.subtractingSaturating(Self.wayToCall_ns), of: &awake_ns, to: .loopBusy) }
        move(Self.wayToCall_ns, of: &awake_ns, to: .wakeup)
    }

    /// Returns the time that page faults account for. A page that was gone costs more than its fault, since none of its lines
    /// is in a cache. So if the faults alone account for half of the time that the thread ran, all of that time counts.
    private func faults(_ ran_ns: Int64) -> Int64 {
        evidence.faults_ns > 0 && evidence.faults_ns >= ran_ns / 2 ? ran_ns : evidence.faults_ns
    }
}

extension LatenessParts {
    /// Attributes time in which the thread slept on purpose although the timer was due.
    fileprivate mutating func take(_ mayWait_ns: Int64, _ isLoop: Bool, _ tolerance_ns: Int64) {
        let allowed_ns = min(mayWait_ns, tolerance_ns)
        take(allowed_ns, for: .tolerance)
        if isLoop { take(mayWait_ns - allowed_ns, for: .loopBusy) }
    }
}
#endif
