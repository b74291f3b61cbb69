#if os(Linux)
public import Foundation

/// Dates of a calendar at which something is to be done: every day at 20:00 in Berlin, each last Friday of a month.
///
///     let evening = try CalendarSchedule(matching: DateComponents(hour: 20), in: TimeZone(identifier: "Europe/Berlin")!)
///     WallTimerEngine.shared.schedule(by: evening) { fire in … }
///     for await tick in WallClock().ticks(by: evening) { … }
///
/// The dates come in order, and each once. The dates of a rule are those of Foundation. On days when the clocks change:
///
/// * A time of day that is **missing** is treated by the `matchingPolicy`. In a night that leaves out the hour from 2 to 3,
///   02:30 becomes 03:30 by `.nextTimePreservingSmallerComponents`, the default as in `Calendar.RecurrenceRule`; 03:00 by
///   `.nextTime`; and 01:30 by `.previousTimePreservingSmallerComponents`. By `.strict` there is no date on that day.
/// * A time of day that comes **twice** counts the first time, or the last time if the `repeatedTimePolicy` is `.last`. It
///   never counts both times, not even for a timer that is begun between the two.
/// * A schedule that names no hour, such as `DateComponents(minute: 30)` or an `.hourly` rule, goes by hours as they pass: it
///   has a date in each of two equal hours, and a missing hour needs no policy.
///
/// Each date is computed one date ahead, by the time zone's rules that the machine has then.
public struct CalendarSchedule: Sendable {
    enum Kind: Sendable {
        case timeOfDay(TimeOfDay)
        /// Hours or minutes that pass, or whole days.
        case components(DateComponents, Calendar, Calendar.MatchingPolicy, Calendar.RepeatedTimePolicy)
        case rule(Calendar.RecurrenceRule, start: Date)
    }

    let kind: Kind

    /// The reason why a schedule cannot be made.
    public struct Invalid: Error, Hashable, CustomStringConvertible {
        /// The value that is wrong, and the values that are accepted there.
        public let description: String
    }

    /// Creates a schedule of each date that has these components; units below the smallest one given are as small as can be.
    /// `DateComponents(hour: 20)` is every day at 20:00:00, `DateComponents(hour: 9, weekday: 2)` each Monday at nine.
    ///
    /// A calendar or a time zone in `components` takes precedence over `calendar`. A day that is not in every month or year,
    /// such as the 31st or February 29, is waited for; the policies are for times of day. Throws if no component is given, or
    /// for a value that the calendar never has, such as an hour of 24.
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
        if let time = TimeOfDay(components, calendar, matchingPolicy, repeatedTimePolicy) {
            kind = .timeOfDay(time)
        } else {
            kind = .components(components, calendar, matchingPolicy, repeatedTimePolicy)
        }
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

    /// Creates a schedule of the dates of a rule, from `start` on. The rule's intervals and its end are counted from `start`,
    /// and what the rule leaves open, such as the minute, is that of `start`.
    ///
    /// The rule's own policies count, for missing days too. Throws if the rule's interval is less than one, or if it has an
    /// hour, minute or second that never comes. The first date takes time in proportion to the number of dates since `start`;
    /// later ones do not.
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
            guard let value, let range = calendar.maximumRange(of: unit), !range.contains(value) else { continue }
            let taken = "\(range.lowerBound)...\(range.upperBound - 1)"
            throw CalendarSchedule.Invalid(description: "components.\(name): \(value) never comes; \(taken) do")
        }
    }

    /// Whether an hour or a larger unit is named, so that a time of day may be missing or come twice.
    var namesTimeOfDay: Bool { hour != nil || !unitsOfDays.isEmpty }

    /// The units of a day or more that are given.
    var unitsOfDays: Set<Calendar.Component> {
        let timeOfDay: Set<Calendar.Component> = [.hour, .minute, .second, .nanosecond]
        return Set(given.filter { $0.value != nil }.map(\.unit)).subtracting(timeOfDay)
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
    }
}
#endif
