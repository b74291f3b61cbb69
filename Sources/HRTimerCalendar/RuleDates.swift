// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import Dispatch
import Foundation
import HRTimerCore
import HRTimerLibc

/// The dates of a rule, one after the other.
///
/// Foundation's search for the next one may take for ever, and cannot be stopped. So it runs on a thread of its own, and is
/// given up when it has taken too much processor time: then the rule has no more dates, and a usage warning tells it. The
/// thread goes on with the lowest priority.
final class RuleDates: @unchecked Sendable {
    // Sendable: belongs to one `ScheduledDates`, whose owner uses it under a lock or in one task. A copy that shares it asks
    // only for what lies ahead. The search's thread alone uses `next` until it has ended or was given up.

    private var next: () -> Date?
    private(set) var isGivenUp = false
    private var hasBegun = false

    /// The longest searches, in processor time: of the next date, and of the first one after a given instant, which counts all
    /// dates from the rule's start on.
    private static let longest_ns: Int64 = 1_000_000_000
    private static let longestFirst_ns: Int64 = 10_000_000_000

    init(_ rule: Calendar.RecurrenceRule, from start: Date) {
        var rule = rule
        if rule.weeks.isEmpty, rule.frequency != .weekly {
            // Foundation finds wrong dates for ordinal weekdays, or none and does not return, in a calendar whose weeks begin
            // with another day (Swift 6.3). Where weeks are neither counted nor named it makes no other difference.
            rule.calendar.firstWeekday = 1
            rule.calendar.minimumDaysInFirstWeek = 1
        }
        let end = Date(wall_ns: .max)
        if start >= end {
            next = { nil }
        } else {
            var iterator = rule.recurrences(of: start, in: start..<end).makeIterator()
            next = { iterator.next() }
        }
    }

    /// Returns the first date after `instant_ns`; `Int64.max` if there is none, or if the search was given up.
    func first(after instant_ns: Int64) -> Int64 {
        if isGivenUp { return .max }
        let longest_ns = hasBegun ? Self.longest_ns : Self.longestFirst_ns
        if let found_ns = first(after: instant_ns, atMost: longest_ns) { return found_ns }
        UsageWarning.report(
            UsageWarning(
                .dateSearchGivenUp,
                "a rule of a calendar has no date that is found within \(longest_ns / 1_000_000_000) s of processor time: its "
                    + "timer or its ticks have ended, and a thread goes on searching; check the parts of the rule"
            )
        )
        return .max
    }

    /// Returns nil if the search was given up.
    private func first(after instant_ns: Int64, atMost longest_ns: Int64) -> Int64? {
        hasBegun = true
        let found_ns = Self.run(atMost: longest_ns) { [self] in
            while let date = next() {
                let date_ns = date.wall_ns(.up)
                if date_ns > instant_ns { return date_ns }
            }
            return .max
        }
        isGivenUp = found_ns == nil
        return found_ns
    }

    /// Returns whether the search for the rule's very first date ends within a second of processor time.
    static func canSearch(_ rule: Calendar.RecurrenceRule, from start: Date) -> Bool {
        RuleDates(rule, from: start).first(after: .min, atMost: longest_ns) != nil
    }

    /// Returns the result of `search`; nil if that takes more processor time. The time in which the process is stopped, or the
    /// machine is busy, does not count.
    private static func run(atMost longest_ns: Int64, _ search: @escaping @Sendable () -> Int64) -> Int64? {
        final class Search: Sendable {
            let result = Locked<Int64?>(nil)
            let hasEnded = DispatchSemaphore(value: 0)
        }
        let running = Search()
        let thread: pthread_t
        do throws(TimerError) {
            thread = try startThread {
                let found_ns = search()
                running.result.withLock { $0 = found_ns }
                running.hasEnded.signal()
            }
        } catch {
            // The system has no room for another thread: a bound cannot be kept.
            return search()
        }
        // Safe: the thread is joined or detached below, and valid until then.
        var clock = clockid_t()
        let hasClock = unsafe pthread_getcpuclockid(thread, &clock) == 0
        while running.hasEnded.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
            var used = timespec()
            guard hasClock, unsafe clock_gettime(clock, &used) == 0 else { continue }
            if Int64(used.tv_sec) * 1_000_000_000 + Int64(used.tv_nsec) < longest_ns { continue }
            var priority = sched_param()
            // SCHED_IDLE, sched(7), which the C library tells only with _GNU_SOURCE.
            unsafe pthread_setschedparam(thread, 5, &priority)
            pthread_detach(thread)
            return nil
        }
        pthread_join(thread, nil)
        return running.result.withLock { $0 }
    }
}
#endif
