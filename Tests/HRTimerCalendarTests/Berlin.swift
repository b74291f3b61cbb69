// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimer
import HRTimerCalendar

let berlin = TimeZone(identifier: "Europe/Berlin")!

/// The Gregorian calendar in Berlin's time zone.
let calendar: Calendar = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = berlin
    return calendar
}()

/// Returns a time of day in Berlin: the first of the two where it comes twice.
func date(_ year: Int, _ month: Int, _ day: Int, _ hour: Int = 0, _ minute: Int = 0) -> Date {
    calendar.date(from: DateComponents(year: year, month: month, day: day, hour: hour, minute: minute))!
}

/// Returns the date as a wall clock in Berlin shows it, with its difference from UTC in hours.
func shown(_ date: Date?) -> String {
    guard let date else { return "never" }
    let parts = calendar.dateComponents([.month, .day, .hour, .minute, .second], from: date)
    func two(_ number: Int?) -> String { (number ?? 0) < 10 ? "0\(number ?? 0)" : "\(number ?? 0)" }
    let offset = berlin.secondsFromGMT(for: date) / 3600
    let time = [parts.hour, parts.minute, parts.second].map(two).joined(separator: ":")
    return "\(two(parts.month))-\(two(parts.day)) \(time) +\(offset)"
}

func shown(_ instant: WallInstant) -> String { shown(Date(instant)) }

extension CalendarSchedule {
    /// Returns up to `count` dates of the schedule after `date`.
    func dates(after date: Date, _ count: Int) -> [Date] {
        var dates: [Date] = []
        var last = date
        while dates.count < count, let next = self.date(after: last) {
            dates.append(next)
            last = next
        }
        return dates
    }
}
