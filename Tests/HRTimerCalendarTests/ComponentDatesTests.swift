// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimer
import HRTimerCalendar
import Seeded
import TestSupport
import TestTraits
import Testing

private let triesAll = ProcessInfo.processInfo.environment["HRTIMER_ALL_CALENDAR_SETS"] != nil

/// Compares schedules of components with a model that steps through time in UTC and asks which components each instant has.
///
/// HRTIMER_ALL_CALENDAR_SETS=1 tries every set of units in each zone; otherwise the seed chooses some.
@Suite("A schedule of components, compared with a walk through time", .timeLimit(.minutes(triesAll ? 180 : 15)))
struct ComponentDatesTests {
    private static let zones = [
        "Australia/Lord_Howe", "Antarctica/Troll", "Pacific/Apia", "Africa/Casablanca", "Europe/Dublin", "Asia/Gaza",
        "America/Havana", "America/Santiago", "America/Sao_Paulo", "Asia/Beirut", "Africa/Cairo", "America/Asuncion",
        "America/St_Johns", "Pacific/Chatham", "Asia/Tehran", "America/Nuuk", "Pacific/Norfolk", "Asia/Kathmandu",
        "Europe/Berlin", "America/New_York",
    ]

    private static let units: [Calendar.Component] = [
        .year, .quarter, .month, .weekOfYear, .weekOfMonth, .weekdayOrdinal, .weekday, .dayOfYear, .day, .hour, .minute,
        .second,
    ]
    private static let ofDays = Set(units.prefix(9))
    private static let daySized: Set<Calendar.Component> = [.weekdayOrdinal, .weekday, .dayOfYear, .day]

    /// Returns the sets to try, as bits by the place of each unit in `units`.
    private func sets(among places: Range<Int>, _ count: Int, _ random: inout SeededRandom) -> [Set<Calendar.Component>]
    {
        let all = 1..<(1 << places.count)
        let chosen = triesAll ? Array(all) : (0..<count).map { _ in Int.random(in: all, using: &random) }
        return chosen.map { bits in
            Set(places.filter { bits >> ($0 - places.lowerBound) & 1 == 1 }.map { Self.units[$0] })
        }
    }

    private struct Instant {
        var date: Date
        var parts: DateComponents
        var offset: Int
        var dayNumber: Int { Int(((date.timeIntervalSince1970 + Double(offset)) / 86_400).rounded(.down)) }
        var time: Int { parts.hour! * 3600 + parts.minute! * 60 + parts.second! }
    }

    private func walk(_ calendar: Calendar, _ begin: Int, _ end: Int, by step: Int) -> [Instant] {
        stride(from: begin, to: end, by: step).map { second in
            let date = Date(timeIntervalSince1970: Double(second))
            return Instant(
                date: date,
                parts: calendar.dateComponents(Set(Self.units), from: date),
                offset: calendar.timeZone.secondsFromGMT(for: date)
            )
        }
    }

    /// Returns the dates among all instants, by the strict policy.
    private func model(_ wanted: DateComponents, _ units: Set<Calendar.Component>, _ isLast: Bool, _ all: [Instant])
        -> [Date]
    {
        func fits(_ instant: Instant, _ units: Set<Calendar.Component>) -> Bool {
            units.allSatisfy { instant.parts.value(for: $0) == wanted.value(for: $0) }
        }
        let ofDays = units.intersection(Self.ofDays)
        let times = units.subtracting(ofDays)
        if times.isEmpty {
            // The begin of each day, or of each first day.
            let days = Dictionary(grouping: all, by: \.dayNumber).sorted { $0.key < $1.key }.map(\.value)
            return zip([nil] + days.map { $0 as [Instant]? }, days).compactMap { before, day in
                guard fits(day[0], ofDays) else { return nil }
                if ofDays.isDisjoint(with: Self.daySized), let before, fits(before[0], ofDays) { return nil }
                return (isLast ? day.last { $0.time == 0 } : nil)?.date ?? day[0].date
            }
        }
        // What is left out below the smallest unit is 0.
        var exact = wanted
        var asked = units
        for unit in [Calendar.Component.second, .minute] where !times.contains(unit) {
            exact.setValue(0, for: unit)
            asked.insert(unit)
            if unit == .second, times.contains(.minute) { break }
        }
        if times.contains(.second) { asked = units }
        let found = all.filter { instant in
            asked.allSatisfy { instant.parts.value(for: $0) == exact.value(for: $0) }
        }
        if !times.contains(.hour) { return found.map(\.date) }
        // A time of day counts once a day.
        let once = Dictionary(grouping: found) { "\($0.dayNumber) \($0.time)" }
        return once.values.compactMap { isLast ? $0.last?.date : $0.first?.date }.sorted()
    }

    private func compare(
        _ calendar: Calendar,
        _ sets: [Set<Calendar.Component>],
        _ all: [Instant],
        margin: TimeInterval,
        _ random: inout SeededRandom
    ) throws {
        let (begin, end) = (all[0].date + margin, all[all.count - 1].date - margin)
        for units in sets {
            // Of an instant in the middle, so that there is such a date.
            let parts = all[Int.random(in: all.count / 3..<all.count * 2 / 3, using: &random)].parts
            var wanted = DateComponents()
            for unit in units { wanted.setValue(parts.value(for: unit), for: unit) }
            let isLast = Bool.random(using: &random)
            let schedule = try CalendarSchedule(
                matching: wanted,
                in: calendar,
                matchingPolicy: .strict,
                repeatedTimePolicy: isLast ? .last : .first
            )
            let expected = model(wanted, units, isLast, all).filter { $0 > begin && $0 < end }
            // The first ones, those around the middle, where clocks change, and the last ones.
            let middle = expected.firstIndex { $0 > all[all.count / 2].date - 5400 } ?? expected.count
            for range in [0..<30, middle..<middle + 60, max(0, expected.count - 10)..<expected.count] {
                let range = range.clamped(to: 0..<expected.count)
                var last = range.lowerBound == 0 ? begin : expected[range.lowerBound - 1]
                for place in range {
                    let next = schedule.date(after: last)
                    #expect(
                        next == expected[place],
                        "\(calendar.timeZone.identifier), \(wanted), last \(isLast), after \(last)"
                    )
                    guard next == expected[place] else { return }
                    last = expected[place]
                }
            }
            if let last = expected.last, let next = schedule.date(after: last) {
                #expect(next >= end, "\(calendar.timeZone.identifier), \(wanted), after the last one, \(last)")
            }
        }
    }

    private func someCalendar(in zone: String, _ random: inout SeededRandom) throws -> Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: zone))
        calendar.firstWeekday = Bool.random(using: &random) ? 1 : 2
        calendar.minimumDaysInFirstWeek = Bool.random(using: &random) ? 1 : 4
        return calendar
    }

    private func change(in calendar: Calendar, _ random: inout SeededRandom) -> Int {
        let some = Date(timeIntervalSince1970: .random(in: 1_104_537_600...1_893_456_000, using: &random))
        let change = calendar.timeZone.nextDaylightSavingTimeTransition(after: some) ?? some
        return Int(change.timeIntervalSince1970) / 60 * 60
    }

    @Test("gives each date of any set of units, around a change of clocks, by the minute", arguments: zones)
    func minutes(_ zone: String) throws {
        var random = SeededRandom.fromEnvironment()
        let calendar = try someCalendar(in: zone, &random)
        let middle = change(in: calendar, &random)
        let all = walk(calendar, middle - 6 * 86_400, middle + 6 * 86_400, by: 60)
        try compare(calendar, sets(among: 0..<11, 12, &random), all, margin: 2 * 86_400, &random)
    }

    @Test(
        "gives each date of any set of units that has seconds, around a change of clocks, by the second",
        arguments: zones
    )
    func seconds(_ zone: String) throws {
        var random = SeededRandom.fromEnvironment()
        let calendar = try someCalendar(in: zone, &random)
        let middle = change(in: calendar, &random)
        let all = walk(calendar, middle - 3 * 3600, middle + 3 * 3600, by: 1)
        // A time of day that comes again outside the walk is not seen there.
        let sets = sets(among: 7..<12, 6, &random).filter { $0.contains(.second) }
        try compare(calendar, sets, all, margin: 3600, &random)
    }

    @Test("gives each day of any set of units of days, for three years")
    func days() throws {
        var random = SeededRandom.fromEnvironment()
        let calendar = try someCalendar(in: "UTC", &random)
        let begin = Int.random(in: 20_000...30_000, using: &random) * 86_400
        let all = walk(calendar, begin, begin + 1100 * 86_400, by: 86_400)
        try compare(calendar, sets(among: 0..<9, 60, &random), all, margin: 0, &random)
    }

    @Test("that leaves out a unit in between has every value of it")
    func gaps() throws {
        func dates(_ components: DateComponents, from start: Date, to end: Date) throws -> [Date] {
            let schedule = try CalendarSchedule(matching: components, in: berlin)
            return schedule.dates(after: start - 1, 2000).filter { $0 < end }
        }
        let (june, july) = (date(2027, 6, 1), date(2027, 7, 1))
        #expect(
            try dates(DateComponents(month: 6, hour: 9), from: june, to: july) == (1...30).map { date(2027, 6, $0, 9) }
        )
        #expect(
            try dates(DateComponents(month: 6, weekday: 2), from: june, to: july)
                == [7, 14, 21, 28].map { date(2027, 6, $0) }
        )
        let day = (0..<24).map { date(2027, 6, 27, $0, 30) }
        #expect(try dates(DateComponents(day: 27, minute: 30), from: june, to: july) == day)
        let nine = (0..<60).map { date(2027, 6, 1, 9, $0) + 30 }
        #expect(try dates(DateComponents(hour: 9, second: 30), from: june, to: date(2027, 6, 2)) == nine)
        let year = try CalendarSchedule(matching: DateComponents(year: 2027, minute: 30), in: berlin)
        #expect(year.dates(after: date(2026, 1, 1), 10_000).count == 8760)
    }

    @Test(
        "that never comes has no date, and says so within a second of processor time",
        .hangLimit,
        arguments: [
            DateComponents(month: 2, day: 30), DateComponents(month: 4, day: 31),
            DateComponents(year: 2027, month: 2, day: 29),
            DateComponents(month: 4, day: 31, minute: 5), DateComponents(month: 2, day: 30, hour: 6),
            DateComponents(month: 6, quarter: 1), DateComponents(era: 0),
            DateComponents(day: 31, weekdayOrdinal: 1), DateComponents(month: 6, weekOfYear: 53),
            DateComponents(year: 1999),
            DateComponents(weekdayOrdinal: 6), DateComponents(weekOfYear: 2, yearForWeekOfYear: 1999),
        ],
        [Calendar.Identifier.gregorian, .iso8601, .hebrew, .chinese, .islamicUmmAlQura, .japanese]
    )
    func never(_ components: DateComponents, _ identifier: Calendar.Identifier) throws {
        var calendar = Calendar(identifier: identifier)
        calendar.timeZone = berlin
        let schedule: CalendarSchedule
        do throws(CalendarSchedule.Invalid) {
            schedule = try CalendarSchedule(matching: components, in: calendar)
        } catch {
            return
        }
        var begin = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin)
        let date = schedule.date(after: Date(timeIntervalSince1970: 1_800_000_000))
        var end = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end)
        let used = Double(end.tv_sec - begin.tv_sec) + Double(end.tv_nsec - begin.tv_nsec) / 1e9
        #expect(used < 1)
        if identifier == .gregorian || identifier == .iso8601 { #expect(date == nil) }
    }

    @Test("finds dates that are far ahead")
    func far() throws {
        func year(_ components: DateComponents) throws -> Int? {
            let date = try CalendarSchedule(matching: components, in: berlin).date(after: date(2073, 1, 1))
            return date.map { calendar.component(.year, from: $0) }
        }
        // February 29 on a Monday: after 2072 there is none before 2112, since 2100 is no leap year.
        #expect(try year(DateComponents(month: 2, day: 29, weekday: 2)) == 2112)
        #expect(try year(DateComponents(year: 2260, day: 31)) == 2260)
        #expect(try year(DateComponents(weekday: 2, weekOfYear: 10, yearForWeekOfYear: 2250)) == 2250)
        #expect(try year(DateComponents(year: 2263)) == nil)
    }
}
