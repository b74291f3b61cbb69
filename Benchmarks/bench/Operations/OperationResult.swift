// SPDX-License-Identifier: Apache-2.0
/// The results of all rounds of one rival. Filled between rounds, on the thread that runs the session.
final class OperationResult {
    let comparison: OperationComparison
    let rival: OperationRival
    /// By round.
    var samples: [Int: OperationSample] = [:]
    /// The reason why there are no samples, or no more samples.
    var skippedBecause: String?

    init(_ comparison: OperationComparison, _ rival: OperationRival) {
        self.comparison = comparison
        self.rival = rival
    }

    var early: UInt64 { samples.values.reduce(0) { $0 + $1.early } }
    var inversions: UInt64 { samples.values.reduce(0) { $0 + $1.inversions } }

    /// Returns the median of the rounds that have the value.
    func middle(_ value: (OperationSample) -> Double?) -> Double? { median(samples.values.compactMap(value)) }

    /// Returns how many times as long as `base` it takes: the median of the ratios within each round. A temporary slowdown
    /// of the machine affects both and cancels out, which it would not in a ratio of medians.
    func ratio(to base: OperationResult) -> Double? {
        median(
            samples.compactMap { round, sample in
                guard let own = sample.compared, let other = base.samples[round]?.compared, other > 0 else {
                    return nil
                }
                return own / other
            }
        )
    }
}
