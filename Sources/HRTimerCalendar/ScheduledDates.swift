// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import Foundation
import HRTimerCore

/// The dates of a schedule on the wall clock, computed one after the other.
struct ScheduledDates: DateSequence {
    private let schedule: CalendarSchedule
    /// The instant after which the calendar was asked last, and its answer. No date lies between them.
    private var searched_ns: Int64?
    private var found_ns = Int64.min
    private var rule: RuleDates?

    init(_ schedule: CalendarSchedule) {
        self.schedule = schedule
    }

    mutating func first(after instant_ns: Int64) -> Int64 {
        if let searched_ns, searched_ns <= instant_ns, instant_ns < found_ns { return found_ns }
        switch schedule.kind {
        case .components(let dates):
            found_ns = dates.first(after: instant_ns)
        case .rule(let rule, let start):
            // A rule is counted from its start: to go back, it must begin again.
            if self.rule == nil || instant_ns < found_ns && self.rule?.isGivenUp == false {
                self.rule = RuleDates(rule, from: start)
            }
            found_ns = self.rule?.first(after: instant_ns) ?? .max
        }
        searched_ns = instant_ns
        return found_ns
    }
}
#endif
