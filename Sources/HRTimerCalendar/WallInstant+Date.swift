// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import Foundation
public import HRTimer

extension WallInstant {
    /// Creates the same point in time.
    ///
    /// A fraction of a nanosecond is rounded up, so that what waits for the instant is not early. NaN becomes `distantPast`,
    /// and a date beyond 2262 becomes `distantFuture`.
    public init(_ date: Date) {
        self.init(nanoseconds: date.wall_ns(.up))
    }
}

extension Date {
    /// Creates the same point in time, to the 0.1 µs or so that a `Date` can tell apart.
    public init(_ instant: WallInstant) {
        self.init(wall_ns: instant.nanoseconds)
    }

    init(wall_ns: Int64) {
        let (seconds, rest_ns) = wall_ns.quotientAndRemainder(dividingBy: 1_000_000_000)
        let whole = Double(seconds) - Date.timeIntervalBetween1970AndReferenceDate
        self.init(timeIntervalSinceReferenceDate: whole + Double(rest_ns) / 1e9)
    }

    /// Returns the nanoseconds since 1970; saturates.
    func wall_ns(_ rule: FloatingPointRoundingRule) -> Int64 {
        let seconds = timeIntervalSinceReferenceDate
        // The whole seconds are converted apart: one product would round to the double's 0.2 µs.
        let whole = seconds.rounded(.down)
        guard let whole_s = Int64(exactly: whole + Date.timeIntervalBetween1970AndReferenceDate),
            case let (whole_ns, overflow) = whole_s.multipliedReportingOverflow(by: 1_000_000_000), !overflow
        else { return seconds > 0 ? .max : .min }
        return whole_ns.addingSaturating(Int64(((seconds - whole) * 1e9).rounded(rule)))
    }
}
#endif
