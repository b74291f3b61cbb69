// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimer
import HRTimerCalendar
import Seeded
import TestSupport
import TestTraits
import Testing

@Suite("A calendar's schedule", .hangLimit)
struct CalendarScheduleTests {
    private typealias Policy = Calendar.MatchingPolicy

    private let night = DateComponents(hour: 2, minute: 30)

    @Test("Every day at 20:00 is 20:00 in the given time zone, in summer and in winter")
    func daily() throws {
        let evening = try CalendarSchedule(matching: DateComponents(hour: 20), in: berlin)
        let days = evening.dates(after: date(2026, 10, 23, 12), 4)
        #expect(
            days.map(shown) == [
                "10-23 20:00:00 +2", "10-24 20:00:00 +2", "10-25 20:00:00 +1", "10-26 20:00:00 +1",
            ]
        )
        #expect(days[2].timeIntervalSince(days[1]) == 25 * 3600)
    }

    @Test("The next date is strictly later than the given one, even if only by a microsecond")
    func after() throws {
        let evening = try CalendarSchedule(matching: DateComponents(hour: 20), in: berlin)
        let date = date(2026, 7, 1, 20)
        #expect(evening.date(after: date - 0.000_001) == date)
        #expect(evening.date(after: date) == date + 86_400)
        #expect(evening.date(after: date + 0.000_001) == date + 86_400)
    }

    @Test("A time of day that a day lacks is replaced as the matching policy says")
    func missing() throws {
        let before = date(2026, 3, 28, 12)
        let first: [(Policy, String)] = [
            (.nextTimePreservingSmallerComponents, "03-29 03:30:00 +2"), (.nextTime, "03-29 03:00:00 +2"),
            (.previousTimePreservingSmallerComponents, "03-29 01:30:00 +1"), (.strict, "03-30 02:30:00 +2"),
        ]
        for (policy, expected) in first {
            let schedule = try CalendarSchedule(matching: night, in: berlin, matchingPolicy: policy)
            let dates = schedule.dates(after: before, 2)
            #expect(shown(dates[0]) == expected)
            #expect(shown(dates[1]) == (policy == .strict ? "03-31 02:30:00 +2" : "03-30 02:30:00 +2"))
        }
        let standard = try CalendarSchedule(matching: night, in: berlin)
        #expect(shown(standard.date(after: before)) == "03-29 03:30:00 +2")
    }

    @Test("A time of day that comes twice in a night is one date, the first or the last")
    func twice() throws {
        let before = date(2026, 10, 24, 12)
        let first = try CalendarSchedule(matching: night, in: berlin)
        #expect(first.dates(after: before, 2).map(shown) == ["10-25 02:30:00 +2", "10-26 02:30:00 +1"])
        let last = try CalendarSchedule(matching: night, in: berlin, repeatedTimePolicy: .last)
        #expect(last.dates(after: before, 2).map(shown) == ["10-25 02:30:00 +1", "10-26 02:30:00 +1"])
    }

    @Test("Between the two occurrences of a repeated time, the first is past and the last is still to come")
    func between() throws {
        let between = date(2026, 10, 25, 2, 30) + 1800
        let first = try CalendarSchedule(matching: night, in: berlin)
        #expect(shown(first.date(after: between)) == "10-26 02:30:00 +1")
        let last = try CalendarSchedule(matching: night, in: berlin, repeatedTimePolicy: .last)
        #expect(shown(last.date(after: between)) == "10-25 02:30:00 +1")
    }

    /// A night in which clocks are set back, and an hour of which a part or all comes twice.
    struct Night: CustomTestStringConvertible, Sendable {
        let zone: String
        /// The instant at which the clocks are set back.
        let change: Int
        let hour: Int

        var testDescription: String { zone }

        static let all = [
            Night(zone: "Europe/Berlin", change: 1_792_890_000, hour: 2),
            // By half an hour.
            Night(zone: "Australia/Lord_Howe", change: 1_775_314_800, hour: 1),
            // At midnight, to the hour before it.
            Night(zone: "America/Sao_Paulo", change: 1_518_919_200, hour: 23),
        ]
    }

    @Test(
        "Times of day with a unit left out in between count once each, from whatever instant of such a night",
        arguments: Night.all,
        [DateComponents(second: 0), DateComponents(second: 30), DateComponents(nanosecond: 500_000_000)]
    )
    func gapsBetween(_ night: Night, _ smallest: DateComponents) throws {
        let zone = try #require(TimeZone(identifier: night.zone))
        var components = smallest
        components.hour = night.hour
        // By the clock on the wall, second by second: what it shows, and when.
        var shown: [Int: [Int]] = [:]
        for instant in night.change - 7200..<night.change + 7200 {
            let reading = instant + zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant)))
            guard reading / 3600 % 24 == night.hour, smallest.second ?? reading % 60 == reading % 60 else { continue }
            shown[reading, default: []].append(instant)
        }
        #expect(shown.values.contains { $0.count == 2 } && shown.values.allSatisfy { $0.count <= 2 })
        let fraction = smallest.nanosecond == nil ? 0 : 0.5
        let nightEnd = Date(timeIntervalSince1970: Double(night.change + 7200))
        for policy in [Calendar.RepeatedTimePolicy.first, .last] {
            let schedule = try CalendarSchedule(matching: components, in: zone, repeatedTimePolicy: policy)
            let all = shown.values.map { policy == .last ? $0[$0.count - 1] : $0[0] }.sorted()
            for begin in stride(from: night.change - 5400, to: night.change + 5400, by: 1200) {
                let rest = all.filter { $0 >= begin }
                // A schedule with dates in each second takes long to compare.
                let count = smallest.nanosecond == nil ? rest.count : min(rest.count, 3)
                let expected = rest.prefix(count).map { Double($0) + fraction }
                let given = schedule.dates(after: Date(timeIntervalSince1970: Double(begin) - 0.25), count + 1)
                #expect(given.prefix(count).map(\.timeIntervalSince1970) == expected, "\(policy), from \(begin)")
                // None of that night is left then.
                if count == rest.count { #expect(given.last! > nightEnd) }
            }
        }
    }

    @Test("A rule that is asked between the two occurrences also counts the first as past")
    func ruleBetween() throws {
        let rule = Calendar.RecurrenceRule.daily(calendar: calendar, hours: [2], minutes: [30], seconds: [0])
        let schedule = try CalendarSchedule(rule, from: date(2026, 1, 1))
        #expect(shown(schedule.date(after: date(2026, 10, 25, 2, 30) + 1800)) == "10-26 02:30:00 +1")
        #expect(shown(schedule.date(after: date(2026, 3, 28, 12))) == "03-29 03:30:00 +2")
    }

    @Test("Components without an hour match in every hour that elapses, across clock changes")
    func hourly() throws {
        let half = try CalendarSchedule(matching: DateComponents(minute: 30), in: berlin)
        let autumn = ["10-25 01:30:00 +2", "10-25 02:30:00 +2", "10-25 02:30:00 +1", "10-25 03:30:00 +1"]
        #expect(half.dates(after: date(2026, 10, 25, 1), 4).map(shown) == autumn)
        let spring = ["03-29 01:30:00 +1", "03-29 03:30:00 +2", "03-29 04:30:00 +2"]
        #expect(half.dates(after: date(2026, 3, 29, 1), 3).map(shown) == spring)
    }

    @Test("A rule counts its intervals and its end from its start")
    func rule() throws {
        var rule = Calendar.RecurrenceRule(calendar: calendar, frequency: .weekly, interval: 2)
        rule.weekdays = [.every(.friday)]
        rule.hours = [18]
        rule.minutes = [0]
        rule.seconds = [0]
        rule.end = .afterOccurrences(3)
        let schedule = try CalendarSchedule(rule, from: date(2026, 5, 1))
        let fridays = ["05-01 18:00:00 +2", "05-15 18:00:00 +2", "05-29 18:00:00 +2"]
        #expect(schedule.dates(after: date(2026, 4, 1), 9).map(shown) == fridays)
        #expect(schedule.dates(after: date(2026, 5, 2), 9).map(shown) == Array(fridays.dropFirst()))
        #expect(schedule.date(after: date(2026, 5, 30)) == nil)
    }

    @Test("Two times of day that coincide on one day are one date")
    func together() throws {
        let rule = Calendar.RecurrenceRule.daily(calendar: calendar, hours: [2, 3], minutes: [30], seconds: [0])
        let dates = try CalendarSchedule(rule, from: date(2026, 3, 1)).dates(after: date(2026, 3, 29), 3)
        #expect(dates.map(shown) == ["03-29 03:30:00 +2", "03-30 02:30:00 +2", "03-30 03:30:00 +2"])
    }

    @Test("A schedule for one date of one year has that date, and none after it")
    func once() throws {
        let components = DateComponents(year: 2028, month: 2, day: 29, hour: 6)
        let schedule = try CalendarSchedule(matching: components, in: berlin)
        #expect(schedule.dates(after: date(2026, 1, 1), 2).map(shown) == ["02-29 06:00:00 +1"])
    }

    @Test("A day that only some months have comes in those months, and a missing time near midnight is not lost")
    func days() throws {
        let last = try CalendarSchedule(matching: DateComponents(day: 31, hour: 6), in: berlin)
        let days = ["01-31 06:00:00 +1", "03-31 06:00:00 +2", "05-31 06:00:00 +2"]
        #expect(last.dates(after: date(2026, 1, 1), 3).map(shown) == days)
        let one = try CalendarSchedule(matching: DateComponents(year: 2026, month: 10, day: 25), in: berlin)
        #expect(one.date(after: date(2026, 10, 26, 12)) == nil)
        // Cuba's summer begins at midnight: there is no 00:30 on that Sunday.
        let havana = TimeZone(identifier: "America/Havana")!
        let before = Date(timeIntervalSince1970: 1_772_755_200)
        let expected = [(Policy.nextTime, 1_772_946_000.0), (.previousTimePreservingSmallerComponents, 1_772_944_200)]
        for (policy, utc) in expected {
            let sunday = DateComponents(hour: 0, minute: 30, weekday: 1)
            let schedule = try CalendarSchedule(matching: sunday, in: havana, matchingPolicy: policy)
            #expect(schedule.date(after: before)?.timeIntervalSince1970 == utc)
        }
    }

    @Test("A calendar and a time zone in the components take precedence over those of the argument")
    func ownZone() throws {
        var components = DateComponents(hour: 20)
        components.timeZone = TimeZone(identifier: "America/New_York")
        let schedule = try CalendarSchedule(matching: components, in: calendar)
        #expect(shown(schedule.date(after: date(2026, 7, 1))) == "07-01 02:00:00 +2")
    }

    private func error(_ make: () throws(CalendarSchedule.Invalid) -> CalendarSchedule) -> String? {
        do throws(CalendarSchedule.Invalid) {
            _ = try make()
            return nil
        } catch {
            return error.description
        }
    }

    @Test("Components that never match are refused, with the component's name and the accepted values")
    func refused() {
        #expect(
            error { () throws(CalendarSchedule.Invalid) in try .init(matching: DateComponents(hour: 24), in: berlin) }
                == "components.hour: 24 never comes; 0...23 do"
        )
        #expect(
            error { () throws(CalendarSchedule.Invalid) in
                try .init(matching: DateComponents(hour: 2, minute: -1), in: berlin)
            } == "components.minute: -1 never comes; 0...59 do"
        )
        #expect(
            error { () throws(CalendarSchedule.Invalid) in try .init(matching: DateComponents(), in: berlin) }
                == "components: none is given; a schedule takes one at least"
        )
        var rule = Calendar.RecurrenceRule(calendar: calendar, frequency: .daily)
        rule.hours = [25]
        #expect(
            error { () throws(CalendarSchedule.Invalid) in try .init(rule, from: date(2026, 1, 1)) }
                == "rule.hours: 25 never comes; 0...23 do"
        )
        rule.hours = []
        rule.interval = 0
        #expect(
            error { () throws(CalendarSchedule.Invalid) in try .init(rule, from: date(2026, 1, 1)) }
                == "rule.interval: 0; it takes 1 or more"
        )
        rule.interval = 1
        #expect(
            error { () throws(CalendarSchedule.Invalid) in
                try .init(rule, from: Date(timeIntervalSinceReferenceDate: .nan))
            } == "start: nan is no date"
        )
    }

    @Test("A wall instant made from a date is not before the date, and less than 1 µs after it")
    func instants() {
        var random = SeededRandom.fromEnvironment()
        for _ in 0..<10_000 {
            let date = Date(timeIntervalSinceReferenceDate: Double.random(in: -1e9...4e9, using: &random))
            let instant = WallInstant(date)
            #expect(Date(instant) >= date)
            #expect(Date(instant).timeIntervalSince(date) < 1e-6)
        }
        #expect(WallInstant(Date(timeIntervalSince1970: 86_400)) == WallInstant(nanoseconds: 86_400_000_000_000))
        #expect(WallInstant(Date(timeIntervalSinceReferenceDate: .nan)) == .distantPast)
        #expect(WallInstant(Date.distantFuture) == .distantFuture)
        #expect(WallInstant(Date.distantPast) == .distantPast)
    }
}

/// Compares schedules with a model that looks at every minute around the clock changes of several time zones.
@Suite("A calendar's schedule, compared with a minute-by-minute model", .hangLimit)
struct CalendarScheduleModelTests {
    private static let zones = [
        "Europe/Berlin", "America/New_York", "America/Havana", "America/Sao_Paulo", "Asia/Beirut", "Australia/Sydney",
        "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "Asia/Kolkata",
        "Antarctica/Troll",
    ]

    private static let policies: [Calendar.MatchingPolicy] = [
        .nextTime, .nextTimePreservingSmallerComponents, .previousTimePreservingSmallerComponents, .strict,
    ]

    /// Returns the model's dates in a range of minutes since 1970. Each date is a whole minute.
    private func model(
        _ zone: TimeZone,
        _ hour: Int,
        _ minute: Int,
        _ policy: Calendar.MatchingPolicy,
        isLast: Bool,
        _ minutes: Range<Int>
    ) -> [Date] {
        let wanted = hour * 60 + minute
        var days: [Int: [(date: Date, reading: Int)]] = [:]
        for number in minutes {
            let date = Date(timeIntervalSince1970: Double(number) * 60)
            let local = number + zone.secondsFromGMT(for: date) / 60
            let day = Int((Double(local) / 1440).rounded(.down))
            days[day, default: []].append((date, local - day * 1440))
        }
        return days.sorted { $0.key < $1.key }.compactMap { _, readings in
            let equal = readings.filter { $0.reading == wanted }
            if let found = isLast ? equal.last : equal.first { return found.date }
            guard let next = readings.firstIndex(where: { $0.reading > wanted }) else { return nil }
            let before = next == 0 ? -1 : readings[next - 1].reading
            // The first minute after the gap, and how far into the gap the time of day is.
            let (date, into) = (readings[next].date, wanted - before - 1)
            switch policy {
            case .nextTime: return date
            case .nextTimePreservingSmallerComponents: return date + Double(into) * 60
            case .previousTimePreservingSmallerComponents:
                return date - Double(readings[next].reading - wanted) * 60
            default: return nil
            }
        }
    }

    @Test("gives the same next date from any instant near a clock change")
    func random() throws {
        var random = SeededRandom.fromEnvironment()
        for _ in 0..<300 {
            let name = Self.zones.randomElement(using: &random)!
            let zone = TimeZone(identifier: name)!
            let begin = Date(timeIntervalSince1970: Double.random(in: 946_684_800...2_050_000_000, using: &random))
            let change = zone.nextDaylightSavingTimeTransition(after: begin) ?? begin
            let (hour, minute) = (Int.random(in: 0...4, using: &random), Int.random(in: 0...11, using: &random) * 5)
            let policy = Self.policies.randomElement(using: &random)!
            let isLast = Bool.random(using: &random)
            let schedule = try CalendarSchedule(
                matching: DateComponents(hour: hour, minute: minute),
                in: zone,
                matchingPolicy: policy,
                repeatedTimePolicy: isLast ? .last : .first
            )
            let middle = Int(change.timeIntervalSince1970) / 60
            let minutes = (middle - 5 * 1440)..<(middle + 7 * 1440)
            let dates = model(zone, hour, minute, policy, isLast: isLast, minutes)
            let after = change + Double.random(in: -1.5...1.5, using: &random) * 86_400
            let expected = dates.first { $0 > after }
            let given = schedule.date(after: after)
            let what = "\(name) \(hour):\(minute), \(policy), last \(isLast)"
            #expect(given == expected, "\(what), after \(after.timeIntervalSince1970)")
        }
    }
}
