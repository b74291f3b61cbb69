// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerLibc

/// What the kernel counts for a thread that fires timers, compared with its counts a few fires ago.
///
/// A reading costs a microsecond or two, so not every fire takes one. There is one every `refresh` parks, on the way to sleep,
/// and one at a late fire, before its handler. How long the fires in between usually wait for a processor is learned, and
/// subtracted. Only the thread itself uses this value.
package struct ThreadEvidence: ~Copyable {
    private var file: Int32 = -1
    private var thread: pthread_t?
    private var base = hrt_thread_counts()
    private var base_ns = Int64.min
    /// Counted since the reading in `base`.
    private var fires: Int64 = 0
    private var punctual_ns: Int64 = 0
    private var parks: Int64 = 0
    private var switches: Int64 = 0
    private var parked_ns: Int64 = 0
    private var mustRefresh = true
    private var hasLateFire = false
    /// How long a fire that is not late usually waits for a processor.
    private var usualDelay_ns: Int64 = 0
    /// When `slow` was read last; the thread reads it once a second at most on the way to sleep.
    private var slow_ns = Int64.min
    private var slow: (stolen_ns: Int64, throttled_ns: Int64) = (0, -1)

    /// The reading at the latest late fire since the thread last parked.
    private var late: (counts: hrt_thread_counts, at_ns: Int64)?
    private var slowOfWake: (stolen_ns: Int64, throttled_ns: Int64)?

    /// The number of parks after which there is another reading. Its cost, spread over the fires, is a fraction of a
    /// microsecond.
    static let refresh: Int64 = 12
    /// A handler that runs longer may have been preempted or have waited, and that must not count for later fires.
    static let longCall_ns: Int64 = 100_000

    package init() {}

    deinit { if file >= 0 { close(file) } }

    private mutating func read() -> hrt_thread_counts {
        let itself = pthread_self()
        if thread.map({ pthread_equal($0, itself) == 0 }) ?? true {
            if file >= 0 { close(file) }
            file = hrt_thread_counts_open()
            (thread, mustRefresh, base_ns) = (itself, true, .min)
        }
        var counts = hrt_thread_counts()
        unsafe hrt_thread_counts_read(file, &counts)
        return counts
    }

    /// Notes that the thread is about to park. A reading delays nobody here.
    package mutating func willPark(_ now_ns: Int64, isPrecise: Bool) {
        if mustRefresh || parks >= Self.refresh { refresh(now_ns) }
        slowOfWake = nil
        parks += 1
        // Before a long sleep a precise wait may wake twice.
        switches += isPrecise ? 2 : 1
    }

    package mutating func didWake(parked_ns: Int64) { self.parked_ns += parked_ns }

    private mutating func refresh(_ now_ns: Int64) {
        let counts = read()
        if !hasLateFire, base_ns > .min, fires > 0, counts.run_delay_ns >= 0 {
            let delay_ns = (counts.run_delay_ns - base.run_delay_ns) / fires
            usualDelay_ns += (delay_ns - usualDelay_ns) / 4
        }
        rebase(counts, now_ns)
        if now_ns.subtractingSaturating(slow_ns) >= 1_000_000_000 {
            slow = (hrt_stolen_ns(), hrt_throttled_ns())
            slow_ns = now_ns
            _ = hrt_page_fault_ns()
        }
    }

    private mutating func rebase(_ counts: hrt_thread_counts, _ now_ns: Int64) {
        (base, base_ns) = (counts, now_ns)
        (fires, punctual_ns, parks, switches, parked_ns) = (0, 0, 0, 0, 0)
        (mustRefresh, hasLateFire, late) = (false, false, nil)
    }

    /// Notes a fire that was not late.
    package mutating func notePunctual(_ lateness_ns: Int64) {
        fires += 1
        punctual_ns = punctual_ns.addingSaturating(max(0, lateness_ns))
    }

    package mutating func noteCall(of length_ns: Int64) {
        if length_ns > Self.longCall_ns { mustRefresh = true }
    }

    /// Returns the evidence at a late fire, on the way to its call: within the time since `begin_ns`, or since the thread was
    /// about to park before that. Empty if this thread has no earlier reading.
    package mutating func take(_ now_ns: Int64, since begin_ns: Int64) -> LateFire.Evidence {
        let counts = read()
        var evidence = LateFire.Evidence()
        defer {
            // `base` stays: other fires that the same wake-up made late need the reading before it.
            late = (counts, now_ns)
            (hasLateFire, mustRefresh) = (true, true)
        }
        if base_ns == .min { return evidence }
        if let late, late.at_ns <= begin_ns {
            compare(counts, now_ns, late.counts, late.at_ns, &evidence)
        } else {
            compare(
                counts,
                now_ns,
                base,
                base_ns,
                &evidence,
                before_ns: min(punctual_ns, fires * usualDelay_ns),
                parked_ns
            )
        }
        return evidence
    }

    private func compare(
        _ counts: hrt_thread_counts,
        _ now_ns: Int64,
        _ base: hrt_thread_counts,
        _ base_ns: Int64,
        _ evidence: inout LateFire.Evidence,
        before_ns: Int64 = 0,
        _ parked_ns: Int64 = 0
    ) {
        let delay_ns = max(0, counts.run_delay_ns - base.run_delay_ns)
        evidence.runDelay_ns = max(0, delay_ns - before_ns)
        let major = counts.major_faults - base.major_faults
        evidence.faults_ns = (counts.minor_faults - base.minor_faults + major) * hrt_page_fault_ns()
        let switchedItself =
            counts.voluntary_switches - base.voluntary_switches > (late?.at_ns == base_ns ? 0 : switches)
        // A fault with input or output blocks the thread, and may account for all of the time.
        if major > 0, switchedItself { evidence.faults_ns = .max / 4 }
        let awake_ns = now_ns - base_ns - parked_ns
        if !switchedItself { evidence.gap_ns = max(0, awake_ns - (counts.cpu_ns - base.cpu_ns) - delay_ns - 10_000) }
        evidence.mayHaveStopped = switchedItself
    }

    /// Returns what takes tens of microseconds to read: after a late fire's handler, once each time that the thread slept.
    package mutating func takeSlow(_ now_ns: Int64) -> (stolen_ns: Int64, throttled_ns: Int64) {
        if let slowOfWake { return slowOfWake }
        let (before, isFirst) = (slow, slow_ns == .min)
        slow = (hrt_stolen_ns(), hrt_throttled_ns())
        slow_ns = now_ns
        let throttled_ns = before.throttled_ns < 0 ? 0 : slow.throttled_ns - before.throttled_ns
        let grown = isFirst ? (0, 0) : (max(0, slow.stolen_ns - before.stolen_ns), max(0, throttled_ns))
        slowOfWake = grown
        return grown
    }
}
#endif
