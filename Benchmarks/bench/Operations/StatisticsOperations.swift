// SPDX-License-Identifier: Apache-2.0
import HRTimer
import Seeded

/// The cost of an engine's statistics for a fire: one lateness recorded in the histogram, and the counters. The lock that
/// protects the counters is held for the fire anyway.
enum StatisticsOperations {
    static let comparison = OperationComparison(
        operation: "record-lateness",
        explanation: "one fire's statistics: its lateness into the histogram, and the engine's counters",
        baseID: "hrtimer.statistics",
        isPinned: true,
        rivals: [
            OperationRival(id: "hrtimer.statistics") { seed in
                let latenesses = Latenesses(seed: seed)
                let histogram = LatencyHistogram()
                var statistics = TimerStatistics()
                let sample = loop.measure { index in
                    let lateness_ns = latenesses[index]
                    histogram.record(lateness_ns)
                    count(&statistics, lateness_ns)
                }
                // Reads the results, so that the compiler cannot remove the work.
                guard UInt64(histogram.count) == statistics.fires else { throw BenchError("a fire was not counted") }
                return sample
            },
            OperationRival(id: "limit.loop") { seed in
                let latenesses = Latenesses(seed: seed)
                var sum_ns: Int64 = 0
                let sample = loop.measure { index in sum_ns &+= latenesses[index] }
                guard sum_ns != .min else { throw BenchError("nothing was read") }
                return sample
            },
        ]
    )

    private static let loop = OperationLoop(operations: 5_000_000)

    /// Counts a fire as `FiringCore` does.
    @inline(never)
    private static func count(_ statistics: inout TimerStatistics, _ lateness_ns: Int64) {
        statistics.missedTicks += lateness_ns > 1_000_000 ? 1 : 0
        statistics.fires += 1
    }

    /// Realistic values: most of some 10 µs to 100 µs, a few of milliseconds.
    private struct Latenesses {
        private let values: [Int64]

        init(seed: UInt64) {
            var random = SeededRandom(seed: seed)
            values = (0..<4096).map { index in
                Int64.random(in: index % 100 == 0 ? 1_000_000..<10_000_000 : 10_000..<100_000, using: &random)
            }
        }

        subscript(index: Int) -> Int64 { values[index & 4095] }
    }
}
