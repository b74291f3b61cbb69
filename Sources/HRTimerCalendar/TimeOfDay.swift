#if os(Linux)
import Foundation
import HRTimerCore

/// A time of day on the days of a schedule.
///
/// Reckoned by the differences from UTC before and after a change of the clocks. `Calendar.nextDate` looks for an hour first, and
/// loses whole days where clocks change by half an hour (Australia/Lord_Howe; Swift 6.3).
struct TimeOfDay: Sendable {
    private let calendar: Calendar
    /// The days, at noon, which no change of clocks leaves out; nil for every day.
    private let noons: DateComponents?
    /// After midnight as a clock shows it, and beside the whole seconds.
    private let seconds: Int
    private let nanoseconds: Int
    private let matching: Calendar.MatchingPolicy
    private let repeated: Calendar.RepeatedTimePolicy

    /// Nil for components that name no single time of day.
    init?(
        _ components: DateComponents,
        _ calendar: Calendar,
        _ matching: Calendar.MatchingPolicy,
        _ repeated: Calendar.RepeatedTimePolicy
    ) {
        guard let hour = components.hour else { return nil }
        // A unit that is left out in between means each of it.
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

    /// The first date after `instant_ns`; `Int64.max` if there is none.
    func first(after instant_ns: Int64) -> Int64 {
        let instant = Int(instant_ns.floored(by: 1_000_000_000))
        // A time of the day before may be taken on this one.
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

    /// The first day of the schedule from that one on, counted from 1970.
    private func next(from day: Int) -> Int? {
        // As far as instants go.
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

    /// In seconds since 1970; nil if there is none on that day.
    private func date(on day: Int) -> Int? {
        // A zone that changes sides of the date line leaves out a day.
        if instants(day * Self.day + Self.day / 2).found.isEmpty { return nil }
        let (found, before, after) = instants(day * Self.day + seconds)
        if let first = found.first, let last = found.last { return repeated == .last ? last : first }
        switch matching {
        case .strict: return nil
        // What a clock shows that was not set yet, or is set already.
        case .nextTimePreservingSmallerComponents: return before
        case .previousTimePreservingSmallerComponents: return after
        default: return change(between: after, and: before)
        }
    }

    /// The instants at which clocks show that, in order; and those at which clocks would that go as before and after a change
    /// nearby.
    private func instants(_ shown: Int) -> (found: [Int], before: Int, after: Int) {
        let near = shown - offset(shown)
        let before = shown - offset(near - Self.day)
        let after = shown - offset(near + Self.day)
        let both = before == after ? [before] : [min(before, after), max(before, after)]
        return (both.filter { $0 + offset($0) == shown }, before, after)
    }

    /// The first second of the other difference.
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
    /// Divided, and rounded down.
    fileprivate func floored(by divisor: Self) -> Self {
        let (quotient, rest) = quotientAndRemainder(dividingBy: divisor)
        return rest < 0 ? quotient - 1 : quotient
    }
}
#endif
