// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import Foundation

/// The days of a calendar that have the given components. Days are counted from 1970.
///
/// The calendar is asked for one day after the other, at noon in UTC, whatever the time zone. `Calendar.nextDate` looks for the
/// largest unit first, and does not return for a day that never comes (Swift 6.3).
struct MatchingDays: Sendable {
    private let calendar: Calendar
    private let wanted: DateComponents
    /// The units of a day or more that are given.
    private let units: Set<Calendar.Component>
    /// Whether only the first of several days in a row counts: nothing smaller than a week is given.
    private let areFirst: Bool

    /// The last day on which there is a `WallInstant`.
    static let last = Int(Int64.max / 1_000_000_000 / 86_400)
    /// How many days the calendar is asked for before there is no such day: 41 years of them, without those that are passed over.
    /// The last day of a leap year comes on a given weekday after 40 years at the latest. Takes a fraction of a second.
    private static let longestSearch = 15_000

    init(_ components: DateComponents, _ calendar: Calendar) {
        wanted = components
        units = components.unitsOfDays
        areFirst = !components.namesDay && !components.namesTime
        var calendar = calendar
        calendar.timeZone = .gmt
        self.calendar = calendar
    }

    /// Returns the first day from `day` on; nil if there is none.
    func next(from day: Int) -> Int? {
        var day = day
        for _ in 0..<Self.longestSearch {
            if day > Self.last { return nil }
            if units.isEmpty { return day }
            let found = components(of: day)
            if !fits(found) {
                day = next(after: day, found)
            } else if areFirst, !isFirst(day, found) {
                day += 1
            } else {
                return day
            }
        }
        return nil
    }

    private func noon(of day: Int) -> Date { Date(timeIntervalSince1970: Double(day) * 86_400 + 43_200) }

    private func components(of day: Int) -> DateComponents {
        calendar.dateComponents(wanted.isLeapMonth == nil ? units : units.union([.month]), from: noon(of: day))
    }

    private func fits(_ found: DateComponents) -> Bool {
        if let isLeapMonth = wanted.isLeapMonth, (found.isLeapMonth ?? false) != isLeapMonth { return false }
        return units.allSatisfy { found.value(for: $0) == wanted.value(for: $0) }
    }

    private func isFirst(_ day: Int, _ found: DateComponents) -> Bool {
        let before = components(of: day - 1)
        return !fits(before) || before.isLeapMonth != found.isLeapMonth
    }

    /// Returns a later day, before which there is no day that fits, after one that does not.
    private func next(after day: Int, _ found: DateComponents) -> Int {
        for unit in [Calendar.Component.year, .month] where units.contains(unit) {
            guard found.value(for: unit) != wanted.value(for: unit),
                let end = calendar.dateInterval(of: unit, for: noon(of: day))?.end.timeIntervalSince1970,
                end < Double(Self.last) * 86_400
            else { continue }
            return max(day + 1, Int((end / 86_400).rounded(.down)))
        }
        // Eras come one after the other.
        if let era = wanted.era, let now = found.era, now > era { return Self.last + 1 }
        if let year = wanted.yearForWeekOfYear, let now = found.yearForWeekOfYear, year - 1 > now {
            // No calendar has shorter years.
            return min(Self.last, day + min(year - 1 - now, 1000) * 350)
        }
        return day + 1
    }
}

extension DateComponents {
    /// The units of a day or more that are given.
    fileprivate var unitsOfDays: Set<Calendar.Component> {
        let units: [Calendar.Component] = [
            .era, .year, .yearForWeekOfYear, .quarter, .month, .weekOfYear, .weekOfMonth, .weekdayOrdinal, .weekday,
            .dayOfYear, .day,
        ]
        return Set(units.filter { value(for: $0) != nil })
    }

    fileprivate var namesDay: Bool { day != nil || weekday != nil || weekdayOrdinal != nil || dayOfYear != nil }

    var namesTime: Bool { hour != nil || minute != nil || second != nil || nanosecond != nil }
}
#endif
