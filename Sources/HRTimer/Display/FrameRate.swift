// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A rate in refreshes a second, as a fraction, since the rates of displays are fractions: 60000/1001, not 59.94.
///
/// It is in lowest terms, so that equal rates compare equal.
public struct FrameRate: Hashable, Sendable {
    /// The numerator; at least 1.
    package let numerator: Int64
    /// The denominator; at least 1.
    package let denominator: Int64

    /// The rate that is used in place of an invalid one.
    public static let standard = FrameRate(60)

    /// The slowest and the fastest rate: one refresh in 1000 s, and one in 0.1 ms.
    package static let bounds: ClosedRange<Double> = 0.001...10_000

    /// Creates the rate `framesPerSecond`, to a millionth.
    ///
    /// Zero, negative values and NaN give 60. All other values, infinity too, are limited to `bounds`.
    public init(_ framesPerSecond: Double) {
        guard framesPerSecond > 0 else {
            self.init(checked: 60_000_000, 1_000_000)
            return
        }
        let bounded = min(max(framesPerSecond, Self.bounds.lowerBound), Self.bounds.upperBound)
        self.init(checked: Int64((bounded * 1e6).rounded()), 1_000_000)
    }

    /// Creates the rate `numerator / denominator`, exactly if it lies in `bounds` and `denominator` is at most a million.
    ///
    /// Otherwise it is the nearest rate.
    public init(_ numerator: Int64, _ denominator: Int64) {
        let quotient = Double(numerator) / Double(denominator)
        if denominator > 0, denominator <= 1_000_000, Self.bounds.contains(quotient) {
            self.init(checked: numerator, denominator)
        } else {
            self.init(quotient)
        }
    }

    private init(checked numerator: Int64, _ denominator: Int64) {
        let divisor = Self.greatestCommonDivisor(numerator, denominator)
        self.numerator = numerator / divisor
        self.denominator = denominator / divisor
    }

    private static func greatestCommonDivisor(_ one: Int64, _ other: Int64) -> Int64 {
        other == 0 ? one : greatestCommonDivisor(other, one % other)
    }

    /// The time from one frame to the next, as exact as a `Duration`, to an attosecond: the interval of a timer with that many
    /// hertz.
    public var interval: Duration { .seconds(denominator) / numerator }

    /// The rate as a number.
    public var framesPerSecond: Double { Double(numerator) / Double(denominator) }

    /// Returns the divisor n for which `maximum`/n is nearest to the requested rate. Of two rates that are equally near, to
    /// within 1 % of the step between them, it selects the slower: 45 gives 30 at 60 Hz, and at 59.94 Hz as well. No request
    /// (zero, negative, NaN), or one not below `maximum`, gives 1.
    static func divisor(of maximum: Double, forPreferred preferred: Double) -> Int64 {
        guard preferred > 0, preferred < maximum else { return 1 }
        let slowest = maximum / bounds.lowerBound
        let fewer = min((maximum / preferred).rounded(.down), slowest)
        let (faster, slower) = (maximum / fewer, maximum / (fewer + 1))
        let isSlower = faster - preferred >= preferred - slower - (faster - slower) * 0.01
        return Int64(isSlower ? fewer + 1 : fewer)
    }

    /// Returns the rate for a request on a display that can have any rate of `rates`: the lowest whole multiple of the request
    /// in that range, else the nearest bound. Without a request, returns the fastest rate.
    static func fitting(_ preferred: Double?, in rates: ClosedRange<Double>) -> FrameRate {
        guard let preferred, preferred < rates.upperBound else { return FrameRate(rates.upperBound) }
        let multiple = max(1, (rates.lowerBound / max(preferred, bounds.lowerBound)).rounded(.up)) * preferred
        return FrameRate(multiple <= rates.upperBound ? max(multiple, rates.lowerBound) : rates.lowerBound)
    }
}
#endif
