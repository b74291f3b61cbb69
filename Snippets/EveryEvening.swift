// Timers at 20:00 each day in Berlin, and a backup at 02:30, also in the night in which the clocks go back. In virtual time.
import Foundation
import HRTimer
import HRTimerCalendar
import HRTimerTesting

let berlin = TimeZone(identifier: "Europe/Berlin")!
let evening = try CalendarSchedule(matching: DateComponents(hour: 20), in: berlin)
let backup = try CalendarSchedule(matching: DateComponents(hour: 2, minute: 30), in: berlin)

// The last Friday of each month, by a recurrence rule of Foundation.
var calendar = Calendar(identifier: .gregorian)
calendar.timeZone = berlin
var rule = Calendar.RecurrenceRule.monthly(calendar: calendar, weekdays: [.nth(-1, .friday)], hours: [16], minutes: [0])
rule.seconds = [0]
let lastFriday = try CalendarSchedule(rule, from: Date(timeIntervalSince1970: 1_790_000_000))

let start = WallInstant(Date(timeIntervalSince1970: 1_792_670_400))  // 2026-10-22 12:00 UTC
try await withManualTime(.init(wallStart: start, toleratesLeftovers: true)) { time in
    let engine = try WallTimerEngine()
    engine.schedule(by: evening) { fire in print("evening     ", Date(fire.firedAt)) }
    engine.schedule(by: lastFriday) { fire in print("last Friday ", Date(fire.firedAt)) }
    let backups = Task {
        // 02:30 comes twice in that night, but the backup runs once.
        for await tick in WallClock().ticks(by: backup) { print("backup      ", Date(tick.firedAt)) }
    }
    await time.advance(by: .seconds(9 * 86_400))
    backups.cancel()
    await backups.value
}
