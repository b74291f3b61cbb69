// SPDX-License-Identifier: Apache-2.0
import Seeded

/// Ranges in which figures of a subject would lie, 19 times of 20, if it were measured again: by the bootstrap over blocks
/// (Efron and Tibshirani, 1993). Whole blocks are drawn, since the fires of one block are alike.
struct Confidence: Sendable, Equatable {
    let p50_ns: ClosedRange<Int64>?
    let p90_ns: ClosedRange<Int64>?
    let p99_ns: ClosedRange<Int64>?
    let mean_ns: ClosedRange<Double>
    /// The processor time per fire; nil if a block does not know it.
    let cpuPerFire_ns: ClosedRange<Double>?

    static let level = 0.95
    static let resamples = 400

    /// `blocks` has the latenesses of each block, `costs` the cost of a fire in each. Returns nil for fewer than three
    /// blocks, which say nothing about the variation between blocks. A percentile is nil if too few fires lie beyond it.
    init?(blocks: [[Int64]], costs: [Double?] = [], seed: UInt64) {
        let costs = zip(blocks, costs).compactMap { $0.isEmpty ? nil : $1 }
        let blocks = blocks.filter { !$0.isEmpty }
        guard blocks.count > 2 else { return nil }
        // Sorted once for all draws. A draw counts each value as often as its block was drawn.
        let pool = blocks.enumerated().flatMap { index, block in block.map { (value_ns: $0, block: index) } }
            .sorted { $0.value_ns < $1.value_ns }
        let sums = blocks.map { $0.reduce(0.0) { $0 + Double($1) } }
        var random = SeededRandom(seed: seed)
        var means: [Double] = []
        var drawnCosts: [Double] = []
        var percentiles: [Percentile: [Int64]] = [:]
        for _ in 0..<Self.resamples {
            var times = [Int](repeating: 0, count: blocks.count)
            for _ in blocks { times[Int.random(in: 0..<blocks.count, using: &random)] += 1 }
            let total = zip(times, blocks).reduce(0) { $0 + $1.0 * $1.1.count }
            means.append(zip(times, sums).reduce(0.0) { $0 + Double($1.0) * $1.1 } / Double(total))
            if costs.count == blocks.count {
                let spent = zip(times, zip(costs, blocks)).reduce(0.0) { $0 + Double($1.0 * $1.1.1.count) * $1.1.0 }
                drawnCosts.append(spent / Double(total))
            }
            for percentile in [Percentile.p50, .p90, .p99] where percentile.isSupported(by: pool.count) {
                let rank = max(1, (total * percentile.rawValue + 99_999) / 100_000)
                var passed = 0
                let value = pool.first { entry in
                    passed += times[entry.block]
                    return passed >= rank
                }
                percentiles[percentile, default: []].append(value?.value_ns ?? pool[pool.count - 1].value_ns)
            }
        }
        p50_ns = percentiles[.p50].map(Self.middle)
        p90_ns = percentiles[.p90].map(Self.middle)
        p99_ns = percentiles[.p99].map(Self.middle)
        mean_ns = Self.middle(means)
        cpuPerFire_ns = drawnCosts.isEmpty ? nil : Self.middle(drawnCosts)
    }

    /// Returns the range of the values without the outermost fortieth at each end.
    static func middle<Value: Comparable>(_ values: [Value]) -> ClosedRange<Value> {
        let sorted = values.sorted()
        let outside = Int((1 - level) / 2 * Double(sorted.count))
        return sorted[outside]...sorted[sorted.count - 1 - outside]
    }
}
