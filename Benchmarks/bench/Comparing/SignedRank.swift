// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A range that contains the true value with the requested confidence.
struct ConfidenceInterval: Sendable, Equatable {
    let low: Double
    let high: Double

    func excludes(_ value: Double) -> Bool { value < low || value > high }
}

/// The confidence interval of the median of differences, from their signed ranks (Wilcoxon; Hollander and Wolfe,
/// Nonparametric Statistical Methods, 3.2 and 3.3). It assumes no distribution, only that noise goes up as often as down.
/// One outlying block counts as one block only.
enum SignedRank {
    /// At most this share of intervals misses the true value.
    static let doubt = 0.005

    /// Returns nil if there are too few values for that confidence: fewer than nine with the default.
    static func interval(of differences: [Double], doubt: Double = doubt) -> ConfidenceInterval? {
        guard let cut = cut(differences.count, doubt: doubt) else { return nil }
        // Walsh averages: the middle of each pair, and of each value with itself.
        var averages: [Double] = []
        for first in differences.indices {
            for second in first..<differences.count { averages.append((differences[first] + differences[second]) / 2) }
        }
        averages.sort()
        return ConfidenceInterval(low: averages[cut], high: averages[averages.count - 1 - cut])
    }

    /// Returns how many averages to leave out at each end.
    private static func cut(_ count: Int, doubt: Double) -> Int? {
        let most = count * (count + 1) / 2
        if count > 60 {
            let mean = Double(most) / 2
            let deviation = (Double(count * (count + 1) * (2 * count + 1)) / 24).squareRoot()
            return max(0, Int((mean - normalQuantile(1 - doubt / 2) * deviation).rounded(.down)))
        }
        // How many of the 2^n choices of signs give each sum of positive ranks.
        var ways = [1.0] + [Double](repeating: 0, count: most)
        for rank in stride(from: 1, through: count, by: 1) {
            for sum in stride(from: most, through: rank, by: -1) { ways[sum] += ways[sum - rank] }
        }
        let allowed = doubt / 2 * pow(2, Double(count))
        var passed = 0.0
        for sum in 0...most {
            passed += ways[sum]
            if passed > allowed { return sum == 0 ? nil : sum - 1 }
        }
        return nil
    }

    /// Returns the quantile by bisection of the error function.
    private static func normalQuantile(_ share: Double) -> Double {
        var low = 0.0, high = 10.0
        for _ in 0..<60 {
            let middle = (low + high) / 2
            if 1 - erfc(middle / 2.0.squareRoot()) / 2 < share { low = middle } else { high = middle }
        }
        return high
    }
}
