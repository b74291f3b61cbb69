// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer

/// What a core has done so far, and how late its calls were.
package struct FiringAccount: Sendable {
    package var statistics = TimerStatistics()
    /// The lateness of the calls so far.
    package let lateness = LatencyHistogram()
    /// The deadline that was due last since the thread woke, or since the pass began; nil if there was none.
    private var lastDeadline_ns: Int64?
    /// Whether something was due since the thread woke or the pass began, or the thread has already found nothing due.
    package private(set) var hasLooked = false

    /// Counts a wake-up: the thread has come back from a wait.
    mutating func wakeUp() {
        statistics.wakeups += 1
        beginPass()
    }

    /// Begins to count the deadlines of another wake-up.
    package mutating func beginPass() {
        hasLooked = false
        lastDeadline_ns = nil
    }

    /// Notes that a timer with that deadline is due.
    mutating func noteDue(_ deadline_ns: Int64, sharesWakeups: Bool) {
        hasLooked = true
        if sharesWakeups, let lastDeadline_ns, lastDeadline_ns != deadline_ns { statistics.wakeupsSaved += 1 }
        lastDeadline_ns = deadline_ns
    }

    /// Notes that nothing more is due.
    mutating func noteNothingDue() {
        if !hasLooked { statistics.spuriousWakeups += 1 }
        hasLooked = true
    }

    /// Counts a wake-up of a loop, which descriptors, blocks and other threads cause, too.
    package mutating func countWakeup(isSpurious: Bool) {
        statistics.wakeups += 1
        if isSpurious { statistics.spuriousWakeups += 1 }
    }

    mutating func countMissed(_ ticks: Int) {
        if ticks != 0 { statistics.missedTicks &+= UInt64(bitPattern: Int64(ticks)) }
    }

    func record(_ lateness_ns: Int64) {
        lateness.record(lateness_ns)
    }

    /// A copy of the lateness so far.
    package var latenessSoFar: LatencyHistogram { lateness.copy() }
}
#endif
