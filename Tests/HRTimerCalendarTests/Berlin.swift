import Foundation
import HRTimer
import HRTimerCalendar

let berlin = TimeZone(identifier: "Europe/Berlin")!

/// Of Berlin.
let calendar: Calendar = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = berlin
    return calendar
}()

/// A time of day in Berlin, the first one where it comes twice.
func date(_ year: Int, _ month: Int, _ day: Int, _ hour: Int = 0, _ minute: Int = 0) -> Date {
    calendar.date(from: DateComponents(year: year, month: month, day: day, hour: hour, minute: minute))!
}

/// As a clock on the wall shows it, with its difference from UTC in hours.
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
    /// The dates after another one.
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
