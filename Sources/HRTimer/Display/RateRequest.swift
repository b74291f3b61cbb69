// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

/// A range of acceptable rates of calls, in calls a second: `CAFrameRateRange`.
public struct FrameRateRange: Sendable, Hashable {
    /// The slowest acceptable rate.
    public var minimum: Double
    /// The fastest acceptable rate.
    public var maximum: Double
    /// The preferred rate; nil for the fastest.
    public var preferred: Double?

    /// Creates a range from `minimum` to `maximum`.
    ///
    /// Bounds in the wrong order are swapped; NaN, zero and negative values count as no bound.
    public init(minimum: Double, maximum: Double, preferred: Double? = nil) {
        let low = minimum > 0 ? minimum : 0
        let high = maximum > 0 ? maximum : .infinity
        self.minimum = min(low, high)
        self.maximum = max(low, high)
        self.preferred = preferred.flatMap { $0 > 0 ? $0 : nil }
    }

    /// The range that requests the display's own rate.
    public static let `default` = FrameRateRange(minimum: 0, maximum: 0)

    /// Returns whether a rate lies in the range, to within a tenth of a per cent: 60 includes 60000/1001.
    public func contains(_ framesPerSecond: Double) -> Bool {
        framesPerSecond >= minimum * 0.998_9 && framesPerSecond <= maximum * 1.001_1
    }

    /// Returns the divisors n for which `framesPerSecond`/n lies in the range, down to the slowest possible rate.
    func divisors(of framesPerSecond: Double) -> Range<Int64> {
        let slowest = (framesPerSecond / FrameRate.bounds.lowerBound).rounded(.up)
        /// Returns the least divisor whose rate satisfies the condition. Computed as a quotient it might be off by one.
        func least(_ isReached: (Double) -> Bool, near bound: Double) -> Int64 {
            var divisor = min(max((framesPerSecond / bound).rounded(.down) - 1, 1), slowest)
            while divisor <= slowest, !isReached(framesPerSecond / divisor) { divisor += 1 }
            return Int64(divisor)
        }
        let first = least({ $0 <= maximum * 1.001_1 }, near: maximum * 1.001_1)
        let end = minimum > 0 ? least({ $0 < minimum * 0.998_9 }, near: minimum * 0.998_9) : Int64(slowest) + 1
        return first..<max(first, end)
    }
}

/// A link's request for a rate of calls: none, or one of three forms.
enum RateRequest: Sendable, Hashable {
    case none
    case rate(Double)
    case range(FrameRateRange)
    /// One call for each group of this many refreshes.
    case interval(Int)

    /// The preferred rate of calls; nil if every refresh of the display, or every n-th one, is to have a call.
    var framesPerSecond: Double? {
        switch self {
        case .none, .interval: return nil
        case .rate(let preferred): return preferred
        case .range(let range):
            let best = min(max(range.preferred ?? range.maximum, range.minimum), range.maximum)
            return best.isFinite ? best : nil
        }
    }

    /// Returns the divisor n for which the link uses the rate `maximum`/n.
    func divisor(of maximum: Double) -> Int64 {
        switch self {
        case .none: return 1
        case .rate(let preferred): return FrameRate.divisor(of: maximum, forPreferred: preferred)
        case .interval(let interval): return Int64(max(1, interval))
        case .range(let range):
            let request = range.preferred ?? range.maximum
            let nearest = FrameRate.divisor(of: maximum, forPreferred: request.isFinite ? request : 0)
            let inRange = range.divisors(of: maximum)
            return inRange.isEmpty ? nearest : min(max(nearest, inRange.lowerBound), inRange.upperBound - 1)
        }
    }
}

/// How long before the end of its frame a link calls its handler, so that the contents are as recent as possible.
public enum WakeLead: Sendable, Hashable {
    /// The call comes at the refresh with which the frame begins.
    case none
    /// The call comes this long before the refresh that the frame is for.
    ///
    /// With a zero or negative duration it comes at that refresh itself.
    case fixed(Duration)
    /// The call comes as late as the handler's duration allows: the lead is its recent maximum, plus a tenth, plus 1 ms.
    case learned

    func nanoseconds(learned_ns: Double) -> Int64? {
        switch self {
        case .none: nil
        case .fixed(let duration): max(0, duration.nanosecondsRoundedUp)
        case .learned: learned_ns > 0 ? Int64(min(learned_ns * 1.1, 1e15)) + 1_000_000 : nil
        }
    }
}
#endif
