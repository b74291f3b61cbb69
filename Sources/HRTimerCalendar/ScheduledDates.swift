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
        case .timeOfDay(let time):
            found_ns = time.first(after: instant_ns)
        case .components(let components, let calendar, let matching, let repeated):
            let from = Date(wall_ns: begin(instant_ns, components))
            found_ns = components.first(after: instant_ns, from, calendar, matching, repeated)
        case .rule(let rule, let start):
            // A rule is counted from its start: to go back, it must begin again.
            if instant_ns < found_ns || self.rule == nil { self.rule = RuleDates(rule, from: start) }
            found_ns = self.rule?.first(after: instant_ns) ?? .max
        }
        searched_ns = instant_ns
        return found_ns
    }

    /// Returns the instant from which to ask the calendar: the date before if that is known; otherwise so long before
    /// `instant_ns` that both of two equal times of a day are asked for together.
    private func begin(_ instant_ns: Int64, _ components: DateComponents) -> Int64 {
        if searched_ns != nil, found_ns == instant_ns { return found_ns }
        let back_s: Int64 = components.namesTimeOfDay ? 2 * 86_400 : 1
        return instant_ns.subtractingSaturating(back_s * 1_000_000_000)
    }
}

extension DateComponents {
    /// Returns the first date after `instant_ns`, for a calendar that is asked from `start` on.
    fileprivate func first(
        after instant_ns: Int64,
        _ start: Date,
        _ calendar: Calendar,
        _ matching: Calendar.MatchingPolicy,
        _ repeated: Calendar.RepeatedTimePolicy
    ) -> Int64 {
        var date = start
        while let next = calendar.nextDate(
            after: date,
            matching: self,
            matchingPolicy: matching,
            repeatedTimePolicy: repeated
        ) {
            let next_ns = next.wall_ns(.up)
            if next_ns > instant_ns, namesDay(of: next, calendar) { return next_ns }
            // Makes progress in any case.
            date = next > date ? next : date + 1
        }
        return .max
    }
}

extension DateComponents {
    /// Returns whether the date is on a day that is meant. Asked for a February 29 or a day 31 that is missing, a calendar
    /// answers with the day after, by the policies that are for missing times of day.
    private func namesDay(of date: Date, _ calendar: Calendar) -> Bool {
        let units = unitsOfDays
        if units.isEmpty { return true }
        let found = calendar.dateComponents(units, from: date)
        if units.allSatisfy({ found.value(for: $0) == value(for: $0) }) { return true }
        // A missing time of day near midnight may be taken on the day before or after.
        var day = DateComponents()
        for unit in units { day.setValue(value(for: unit), for: unit) }
        let near: TimeInterval = 26 * 3600
        let exact = calendar.nextDate(after: date - near, matching: day, matchingPolicy: .nextTime)
        guard let exact, exact <= date + near else { return false }
        let same = calendar.dateComponents(units, from: exact)
        return units.allSatisfy { same.value(for: $0) == value(for: $0) }
    }
}

/// The dates of a rule, one after the other.
private final class RuleDates: @unchecked Sendable {
    // Sendable: belongs to one `ScheduledDates`, whose owner uses it under a lock or in one task. A copy that shares it asks
    // only for what lies ahead.

    private var next: () -> Date?

    init(_ rule: Calendar.RecurrenceRule, from start: Date) {
        var iterator = rule.recurrences(of: start).makeIterator()
        next = { iterator.next() }
    }

    func first(after instant_ns: Int64) -> Int64 {
        while let date = next() {
            let date_ns = date.wall_ns(.up)
            if date_ns > instant_ns { return date_ns }
        }
        return .max
    }
}
#endif
