#if os(Linux)
import Foundation
import HRTimerCore

/// A time of day on the days of a schedule.
///
/// Computed from the offsets to UTC before and after a change of the clocks. `Calendar.nextDate` looks for an hour first, and
/// loses whole days where clocks change by half an hour (Australia/Lord_Howe; Swift 6.3).
struct TimeOfDay: Sendable {
    private let calendar: Calendar
    /// Matches noon of the days, since no change of clocks leaves out noon; nil for every day.
    private let noons: DateComponents?
    /// The time after midnight as a clock shows it: the whole seconds, and the nanoseconds beyond them.
    private let seconds: Int
    private let nanoseconds: Int
    private let matching: Calendar.MatchingPolicy
    private let repeated: Calendar.RepeatedTimePolicy

    /// Returns nil for components that name no single time of day.
    init?(
        _ components: DateComponents,
        _ calendar: Calendar,
        _ matching: Calendar.MatchingPolicy,
        _ repeated: Calendar.RepeatedTimePolicy
    ) {
        guard let hour = components.hour else { return nil }
        // If a unit between two given ones is left out, every value of it is meant.
        if components.second != nil, components.minute == nil { return nil }
        if components.nanosecond != nil, components.second == nil { return nil }
        seconds = hour * 3600 + (components.minute ?? 0) * 60 + (components.second ?? 0)
        nanoseconds = components.nanosecond ?? 0
        let units = components.unitsOfDays
        var noons = DateComponents(hour: 12)
        for unit in units { noons.setValue(components.value(for: unit), for: unit) }
        self.noons = units.isEmpty ? nil : noons
        self.calendar = calendar
        self.matching = matching
        self.repeated = repeated
    }

    /// Returns the first date after `instant_ns`; `Int64.max` if there is none.
    func first(after instant_ns: Int64) -> Int64 {
        let instant = Int(instant_ns.floored(by: 1_000_000_000))
        // A missing time of the day before may be moved to this day.
        var day: Int? = next(from: (instant + offset(instant)).floored(by: Self.day) - 1)
        while let found = day {
            if let date = date(on: found) {
                let (date_ns, overflow) = Int64(date).multipliedReportingOverflow(by: 1_000_000_000)
                if overflow { return .max }
                let exact_ns = date_ns.addingSaturating(Int64(nanoseconds))
                if exact_ns > instant_ns { return exact_ns }
            }
            day = next(from: found + 1)
        }
        return .max
    }

    private static let day = 86_400

    /// Returns the first day of the schedule from `day` on. Days are counted from 1970.
    private func next(from day: Int) -> Int? {
        // No instant lies that far ahead.
        guard day < 200_000 else { return nil }
        guard let noons else { return day }
        let noon = day * Self.day + Self.day / 2
        let before = Date(timeIntervalSince1970: Double(noon - offset(noon) - 2 * 3600))
        guard let found = calendar.nextDate(after: before, matching: noons, matchingPolicy: .strict) else { return nil }
        let seconds = Int(found.timeIntervalSince1970)
        return (seconds + offset(seconds)).floored(by: Self.day)
    }

    private func offset(_ instant: Int) -> Int {
        calendar.timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant)))
    }

    /// Returns the date on `day`, in seconds since 1970; nil if there is none on that day.
    private func date(on day: Int) -> Int? {
        // A zone that changes sides of the date line leaves out a day.
        if instants(day * Self.day + Self.day / 2).found.isEmpty { return nil }
        let (found, before, after) = instants(day * Self.day + seconds)
        if let first = found.first, let last = found.last { return repeated == .last ? last : first }
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
