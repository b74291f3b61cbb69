// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import Foundation

/// Dates of a calendar at which something is to be done: every day at 20:00 in Berlin, each last Friday of a month.
///
///     let evening = try CalendarSchedule(matching: DateComponents(hour: 20), in: TimeZone(identifier: "Europe/Berlin")!)
///     WallTimerEngine.shared.schedule(by: evening) { fire in … }
///     for await tick in WallClock().ticks(by: evening) { … }
///
/// The dates come in order, and each once. The dates of a rule are those of Foundation, for a calendar whose weeks begin as
/// the rule's calendar says where the rule counts weeks. On days when the clocks change:
///
/// * A time of day that is **missing** is treated by the `matchingPolicy`. In a night that leaves out the hour from 2 to 3,
///   02:30 becomes 03:30 by `.nextTimePreservingSmallerComponents`, the default as in `Calendar.RecurrenceRule`; 03:00 by
///   `.nextTime`; and 01:30 by `.previousTimePreservingSmallerComponents`. By `.strict` there is no date on that day.
/// * A time of day that comes **twice** counts the first time, or the last time if the `repeatedTimePolicy` is `.last`. It
///   never counts both times, not even for a timer that is begun between the two.
/// * A schedule that names no hour, such as `DateComponents(minute: 30)` or an `.hourly` rule, goes by hours as they pass: it
///   has a date in each of two equal hours, and a missing hour needs no policy.
///
/// Each date is computed one date ahead, by the time zone's rules that the machine has then. The search for a date always ends:
/// components that never come together have no date, and a rule for which Foundation searches for more than a second of
/// processor time is refused, or has no more dates, which a `UsageWarning` tells.
public struct CalendarSchedule: Sendable {
    enum Kind: Sendable {
        case components(ComponentDates)
        case rule(Calendar.RecurrenceRule, start: Date)
    }

    let kind: Kind

    /// The reason why a schedule cannot be made.
    public struct Invalid: Error, Hashable, CustomStringConvertible {
        /// The value that is wrong, and the values that are accepted there.
        public let description: String
    }

    /// Creates a schedule of each date that has these components; units below the smallest one given are as small as can be.
    ///
    /// `DateComponents(hour: 20)` is every day at 20:00:00, `DateComponents(hour: 9, weekday: 2)` each Monday at nine. Of a
    /// unit that is left out above the smallest one, each value is meant: `DateComponents(month: 6, hour: 9)` is each day in
    /// June at nine, and `DateComponents(day: 27, minute: 30)` every half past on a 27th. `DateComponents(weekday: 2)` is the
    /// begin of each Monday, at midnight or when clocks have left midnight out.
    ///
    /// A calendar or a time zone in `components` takes precedence over `calendar`. A day that is not in every month or year,
    /// such as the 31st or February 29, is waited for; the policies are for times of day. Components that
    /// never come together, such as those of February 30, have no date: the search ends after forty years, without the years
    /// and months that are not meant. Throws if no component is given, or for a value that the calendar never has,
    /// such as an hour of 24.
    public init(
        matching components: DateComponents,
        in calendar: Calendar,
        matchingPolicy: Calendar.MatchingPolicy = .nextTimePreservingSmallerComponents,
        repeatedTimePolicy: Calendar.RepeatedTimePolicy = .first
    ) throws(Invalid) {
        var calendar = components.calendar ?? calendar
        if let timeZone = components.timeZone { calendar.timeZone = timeZone }
        var components = components
        components.calendar = nil
        components.timeZone = nil
        try components.check(in: calendar)
        kind = .components(ComponentDates(components, calendar, matchingPolicy, repeatedTimePolicy))
    }

    /// Creates a schedule of each date that has these components in the Gregorian calendar of a time zone; else as with a
    /// calendar.
    public init(
        matching components: DateComponents,
        in timeZone: TimeZone,
        matchingPolicy: Calendar.MatchingPolicy = .nextTimePreservingSmallerComponents,
        repeatedTimePolicy: Calendar.RepeatedTimePolicy = .first
    ) throws(Invalid) {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        try self.init(
            matching: components,
            in: calendar,
            matchingPolicy: matchingPolicy,
            repeatedTimePolicy: repeatedTimePolicy
        )
    }

    /// Creates a schedule of the dates of a rule, from `start` on.
    ///
    /// The rule's intervals and its end are counted from `start`, and what the rule leaves open, such as the minute, is that of
    /// `start`.
    ///
    /// The rule's own policies count, for missing days too. Throws if the rule's interval is less than one, if it has an hour,
    /// minute or second that never comes, or if the search for its very first date takes more than a second of processor time.
    /// The first date takes time in proportion to the number of dates since `start`; later ones do not. A first date for which
    /// that is more than ten seconds of processor time, or a later one with more than a second, is none.
    public init(_ rule: Calendar.RecurrenceRule, from start: Date) throws(Invalid) {
        try rule.check(from: start)
        kind = .rule(rule, start: start)
    }

    /// Returns the first date after another one, to the nanosecond, rounded up; nil if there is none.
    public func date(after date: Date) -> Date? {
        var dates = ScheduledDates(self)
        let first_ns = dates.first(after: date.wall_ns(.down))
        return first_ns == .max ? nil : Date(wall_ns: first_ns)
    }
}

extension DateComponents {
    /// The values that are given, largest unit first.
    private var given: [(name: String, unit: Calendar.Component, value: Int?)] {
        [
            ("era", .era, era), ("year", .year, year), ("yearForWeekOfYear", .yearForWeekOfYear, yearForWeekOfYear),
            ("quarter", .quarter, quarter), ("month", .month, month), ("weekOfYear", .weekOfYear, weekOfYear),
            ("weekOfMonth", .weekOfMonth, weekOfMonth), ("weekdayOrdinal", .weekdayOrdinal, weekdayOrdinal),
            ("weekday", .weekday, weekday), ("dayOfYear", .dayOfYear, dayOfYear), ("day", .day, day),
            ("hour", .hour, hour),
            ("minute", .minute, minute), ("second", .second, second), ("nanosecond", .nanosecond, nanosecond),
        ]
    }

    fileprivate func check(in calendar: Calendar) throws(CalendarSchedule.Invalid) {
        let given = given.filter { $0.value != nil }
        if given.isEmpty {
            throw CalendarSchedule.Invalid(description: "components: none is given; a schedule takes one at least")
        }
        for (name, unit, value) in given {
            // Foundation's range of these years begins far in the future (Swift 6.2).
            if unit == .yearForWeekOfYear { continue }
            guard let value, let range = calendar.maximumRange(of: unit), !range.contains(value) else { continue }
            let taken = "\(range.lowerBound)...\(range.upperBound - 1)"
            throw CalendarSchedule.Invalid(description: "components.\(name): \(value) never comes; \(taken) do")
        }
    }
}

extension Calendar.RecurrenceRule {
    fileprivate func check(from start: Date) throws(CalendarSchedule.Invalid) {
        if interval < 1 {
            throw CalendarSchedule.Invalid(description: "rule.interval: \(interval); it takes 1 or more")
        }
        if !start.timeIntervalSinceReferenceDate.isFinite {
            throw CalendarSchedule.Invalid(description: "start: \(start.timeIntervalSinceReferenceDate) is no date")
        }
        for (name, values, limit) in [("hours", hours, 23), ("minutes", minutes, 59), ("seconds", seconds, 59)] {
            guard let wrong = values.first(where: { !(0...limit).contains($0) }) else { continue }
            throw CalendarSchedule.Invalid(description: "rule.\(name): \(wrong) never comes; 0...\(limit) do")
        }
        if !RuleDates.canSearch(self, from: start) {
            let what = "its first date is not found within a second; a rule takes parts that come together"
            throw CalendarSchedule.Invalid(description: "rule: \(what)")
        }
    }
}
#endif
