// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimer
import HRTimerCalendar
import HRTimerTesting
import TestSupport
import TestTraits
import Testing

/// Rules for which Foundation's own search finds wrong dates, or does not end.
@Suite("A schedule by a rule", .hangLimit)
struct RuleDatesTests {
    /// Returns the `number`th day of each month of 2026 that is that weekday, 1 for Sunday; counted from the end if negative.
    private func model(_ number: Int, weekday: Int) -> [Date] {
        (1...12).map { month in
            let days = (0..<31).map { date(2026, month, 1, 9) + Double($0) * 86_400 }
                .map { calendar.date(bySettingHour: 9, minute: 0, second: 0, of: $0)! }
                .filter {
                    calendar.component(.month, from: $0) == month && calendar.component(.weekday, from: $0) == weekday
                }
            return number > 0 ? days[number - 1] : days[days.count + number]
        }
    }

    @Test("has its ordinal weekdays whatever day the weeks of its calendar begin with", arguments: 1...7, [1, 4, 7])
    func ordinals(firstWeekday: Int, minimumDays: Int) throws {
        var own = calendar
        own.firstWeekday = firstWeekday
        own.minimumDaysInFirstWeek = minimumDays
        let wanted: [(Int, Locale.Weekday, Int)] = [
            (1, .monday, 2), (2, .tuesday, 3), (-1, .friday, 6), (4, .sunday, 1),
        ]
        for (number, weekday, place) in wanted {
            var rule = Calendar.RecurrenceRule(calendar: own, frequency: .monthly)
            rule.weekdays = [.nth(number, weekday)]
            rule.hours = [9]
            rule.minutes = [0]
            rule.seconds = [0]
            let dates = try CalendarSchedule(rule, from: date(2026, 1, 1)).dates(after: date(2026, 1, 1), 12)
            #expect(dates == model(number, weekday: place), "\(number) \(weekday)")
        }
    }

    @Test("in the ISO 8601 calendar ends neither its engine's thread nor the virtual time's")
    func isoInFire() throws {
        let time = ManualTime(wallStart: WallInstant(date(2026, 1, 1)))
        let engine = try WallTimerEngine(time: time.base)
        var iso = Calendar(identifier: .iso8601)
        iso.timeZone = berlin
        var rule = Calendar.RecurrenceRule(calendar: iso, frequency: .monthly)
        rule.weekdays = [.nth(1, .monday)]
        rule.hours = [9]
        rule.minutes = [0]
        rule.seconds = [0]
        let fires = Recorder<Date>()
        engine.schedule(by: try CalendarSchedule(rule, from: date(2026, 1, 1))) { fires.append(Date($0.deadline)) }
        time.advance(by: .seconds(364 * 86_400))
        #expect(fires.all == model(1, weekday: 2))
    }

    // In a process of its own: the search that is given up goes on there, and would take a processor from all other tests.
    @Test(
        "that never comes is refused or has no date, and does not hang",
        arguments: [Calendar.RecurrenceRule.Frequency.yearly, .monthly, .daily, .hourly]
    )
    func never(_ frequency: Calendar.RecurrenceRule.Frequency) async throws {
        await #expect(processExitsWith: .success) { [frequency] in
            var rule = Calendar.RecurrenceRule(calendar: calendar, frequency: frequency)
            rule.months = [2]
            rule.daysOfTheMonth = [30]
            rule.matchingPolicy = .strict
            do throws(CalendarSchedule.Invalid) {
                let schedule = try CalendarSchedule(rule, from: date(2026, 1, 1))
                #expect(schedule.date(after: date(2026, 1, 1)) == nil)
            } catch {
                #expect(error.description.hasPrefix("rule: "))
            }
        }
    }

    // In a process of its own, too.
    @Test("for whose first date Foundation searches for minutes is refused after a second of processor time")
    func refusedInTime() async {
        await #expect(processExitsWith: .success) {
            var rule = Calendar.RecurrenceRule(calendar: calendar, frequency: .minutely)
            rule.months = [2]
            rule.daysOfTheMonth = [30]
            rule.matchingPolicy = .strict
            let begun_s = processorTime_s()
            #expect(throws: CalendarSchedule.Invalid.self) { try CalendarSchedule(rule, from: date(2026, 1, 1)) }
            // The bound is looked at from time to time.
            #expect(processorTime_s() - begun_s < 5)
        }
    }
}

/// The processor time of this process so far.
private func processorTime_s() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
