// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import Foundation
import HRTimerCore

/// The dates that have given components.
///
/// Computed from days, and from the offsets to UTC before and after a change of the clocks. `Calendar.nextDate` loses dates
/// where a unit between two given ones is left out, and whole days where clocks change by half an hour (Australia/Lord_Howe;
/// Swift 6.3).
struct ComponentDates: Sendable {
    private let days: MatchingDays
    private let timeZone: TimeZone
    /// The time of day, in each of these units; nil for every value.
    private let hour: Int?
    private let minute: Int?
    private let second: Int?
    private let nanosecond: Int64
    /// Whether no time of day is given: the dates are the begins of days.
    private let areDays: Bool
    private let matching: Calendar.MatchingPolicy
    private let repeated: Calendar.RepeatedTimePolicy

    init(
        _ components: DateComponents,
        _ calendar: Calendar,
        _ matching: Calendar.MatchingPolicy,
        _ repeated: Calendar.RepeatedTimePolicy
    ) {
        days = MatchingDays(components, calendar)
        timeZone = calendar.timeZone
        areDays = !components.namesTime
        // Units below the smallest one given are 0. If one between two given ones is left out, every value of it is meant.
        let hasNanosecond = components.nanosecond != nil
        let hasSecond = hasNanosecond || components.second != nil
        hour = components.hour ?? (areDays ? 0 : nil)
        minute = components.minute ?? (hasSecond ? nil : 0)
        second = components.second ?? (hasNanosecond ? nil : 0)
        nanosecond = Int64(components.nanosecond ?? 0)
        self.matching = matching
        self.repeated = repeated
    }

    private static let day = 86_400
    /// How many days may have no date, as by `.strict`, before there is none any more.
    private static let longestSearch = 3000

    /// Returns the first date after `instant_ns`; `Int64.max` if there is none.
    func first(after instant_ns: Int64) -> Int64 {
        let second = Int(instant_ns.subtractingSaturating(nanosecond).floored(by: 1_000_000_000)) + 1
        guard let date = date(from: second) else { return .max }
        let (date_ns, overflow) = Int64(date).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : date_ns.addingSaturating(nanosecond)
    }

    /// Returns the first date from `second` on, in seconds since 1970.
    private func date(from second: Int) -> Int? {
        // A missing time of the day before may be moved to this day, and a day may begin again.
        var day = days.next(from: (second + offset(second)).floored(by: Self.day) - 1)
        for _ in 0..<Self.longestSearch {
            guard let found = day else { return nil }
            if let date = date(on: found, from: second) { return date }
            day = days.next(from: found + 1)
        }
        return nil
    }

    private func date(on day: Int, from second: Int) -> Int? {
        if hour == nil { return elapsed(on: day, from: second) }
        // A zone that changes sides of the date line leaves out a day.
        if instants(day * Self.day + Self.day / 2).found.isEmpty { return nil }
        if let hour, let minute, let own = self.second {
            return date(on: day, hour * 3600 + minute * 60 + own).flatMap { $0 < second ? nil : $0 }
        }
        let parts = parts(of: day)
        if parts.count == 1 { return date(in: parts[0], on: day, from: second) }
        // The day has a change of clocks, or a neighbour has: each time of the day has an instant of its own.
        var first: Int?
        var time = self.time(from: 0)
        while let next = time {
            if let date = date(on: day, next), date >= second { first = min(first ?? date, date) }
            time = self.time(from: next + 1)
        }
        return first
    }

    /// Returns the first second of a day, from `time` on, that has the units of the time of day.
    private func time(from time: Int) -> Int? {
        var time = time
        while time < Self.day {
            if let hour, time / 3600 != hour {
                if time / 3600 > hour { return nil }
                time = hour * 3600
            } else if let minute, time / 60 % 60 != minute {
                time = (time / 60 + 1) * 60
            } else if let second, time % 60 != second {
                time += time % 60 < second ? second - time % 60 : 60 - time % 60
            } else {
                return time
            }
        }
        return nil
    }

    private func offset(_ instant: Int) -> Int {
        timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant)))
    }
}

// Dates that go by hours as they pass.
extension ComponentDates {
    /// A stretch of time during which clocks have one offset.
    private struct Part {
        var begin: Int
        var end: Int
        var offset: Int
    }

    /// Returns the parts of the time in which it may be `day` somewhere on earth.
    private func parts(of day: Int) -> [Part] {
        let (begin, end) = (day * Self.day - 16 * 3600, (day + 1) * Self.day + 16 * 3600)
        var parts = [Part(begin: begin, end: end, offset: offset(begin))]
        var seen = begin
        while seen < end {
            let next = min(seen + Self.day / 2, end)
            if offset(next) == parts[parts.count - 1].offset {
                seen = next
            } else {
                seen = change(between: seen, and: next)
                parts[parts.count - 1].end = seen
                parts.append(Part(begin: seen, end: end, offset: offset(seen)))
            }
        }
        return parts
    }

    private func date(in part: Part, on day: Int, from second: Int) -> Int? {
        let midnight = day * Self.day - part.offset
        guard let time = time(from: max(0, max(second, part.begin) - midnight)) else { return nil }
        return midnight + time < part.end ? midnight + time : nil
    }

    private func elapsed(on day: Int, from second: Int) -> Int? {
        let parts = parts(of: day)
        let date = parts.lazy.compactMap { self.date(in: $0, on: day, from: second) }.first
        guard let date, parts.count > 1, days.next(from: day + 1) == day + 1 else { return date }
        // Where clocks are set back over midnight, the next day may have begun before this one ended.
        let next = parts.lazy.compactMap { self.date(in: $0, on: day + 1, from: second) }.first
        return next.map { min($0, date) } ?? date
    }
}

// A time of day, which may be missing or come twice.
extension ComponentDates {
    /// Returns the date on `day` at that many seconds after midnight, as a clock shows them; nil if there is none on that day.
    private func date(on day: Int, _ time: Int) -> Int? {
        let (found, before, after) = instants(day * Self.day + time)
        if let first = found.first, let last = found.last { return repeated == .last ? last : first }
        // The day itself is not missing, and begins after the change.
        if areDays { return change(between: after, and: before) }
        switch matching {
        case .strict: return nil
        // A clock that was not set yet shows the time at `before`, one that is set already at `after`.
        case .nextTimePreservingSmallerComponents: return before
        case .previousTimePreservingSmallerComponents: return after
        default: return change(between: after, and: before)
        }
    }

    /// Returns the instants at which clocks show that time, in order. `before` and `after` are the instants at which clocks
    /// would show it if they went as they do before, and after, a change nearby.
    private func instants(_ shown: Int) -> (found: [Int], before: Int, after: Int) {
        let near = shown - offset(shown)
        let before = shown - offset(near - Self.day)
        let after = shown - offset(near + Self.day)
        let both = before == after ? [before] : [min(before, after), max(before, after)]
        return (both.filter { $0 + offset($0) == shown }, before, after)
    }

    /// Returns the first second after the change of offset that lies between the two instants.
    private func change(between first: Int, and last: Int) -> Int {
        var (before, after) = (first, last)
        let former = offset(first)
        while after - before > 1 {
            let middle = (before + after) / 2
            if offset(middle) == former { before = middle } else { after = middle }
        }
        return after
    }
}

extension BinaryInteger {
    /// Returns the quotient, rounded down.
    fileprivate func floored(by divisor: Self) -> Self {
        let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? quotient - 1 : quotient
    }
}
#endif
