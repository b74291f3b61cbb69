/// The results of all rounds of one rival. Filled between rounds, on the thread that runs the session.
final class OperationResult {
    let id: String
    /// By round.
    private(set) var samples: [Int: OperationSample] = [:]
    /// The reason why there are no samples, or no more samples.
    var skippedBecause: String?

    init(id: String) {
        self.id = id
    }

    func add(_ sample: OperationSample, round: Int) {
        samples[round] = sample
    }

    var nsPerOp: Double? { median(samples.values.compactMap(\.nsPerOp)) }
    var cpuPerOp_ns: Double? { median(samples.values.compactMap(\.cpuPerOp_ns)) }
    var bytesPerTimer: Double? { median(samples.values.compactMap(\.bytesPerTimer)) }
    var bytesLeftPerTimer: Double? { median(samples.values.compactMap(\.bytesLeftPerTimer)) }
    var pollP999_ns: Double? { median(samples.values.compactMap(\.pollP999_ns).map { Double($0) }) }
    var wakesPerOp: Double? { median(samples.values.compactMap(\.wakesPerOp)) }
    var allocationsPerOp: Double? { median(samples.values.compactMap(\.allocationsPerOp)) }
    var locksPerOp: Double? { median(samples.values.compactMap(\.locksPerOp)) }
    var wakeupsPerSecond: Double? { median(samples.values.compactMap(\.wakeupsPerSecond)) }
    var greedyWakeupsPerSecond: Double? { median(samples.values.compactMap(\.greedyWakeupsPerSecond)) }
    var longestCall_ns: Int64? { samples.values.compactMap(\.longestCall_ns).max() }
    var early: UInt64 { samples.values.reduce(0) { $0 + $1.early } }
    var inversions: UInt64 { samples.values.reduce(0) { $0 + $1.inversions } }

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

/// The results of one comparison, in the order of its rivals.
struct ComparisonResult {
    let comparison: OperationComparison
    let results: [OperationResult]

    init(_ comparison: OperationComparison) {
        self.comparison = comparison
        results = comparison.rivals.map { OperationResult(id: $0.id) }
    }

    func ratio(_ result: OperationResult) -> Double? {
        results.first { $0.id == comparison.baseID }.flatMap { result.ratio(to: $0) }
    }
}
