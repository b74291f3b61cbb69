// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import Seeded

/// One run of `bench ops`: comparisons one after the other, the rounds of each interleaved.
///
/// Everything happens on the thread that calls `run`, or on threads that have ended before it continues.
final class OperationSession {
    /// By comparison; those of a comparison in the order of its rivals.
    let results: [[OperationResult]]
    let rounds: Int
    let seed: UInt64
    /// The processor for pinned comparisons; nil for any.
    let cpu: Int?
    private(set) var wasInterrupted = false

    init(_ comparisons: [OperationComparison], rounds: Int, seed: UInt64, cpu: Int?) {
        results = comparisons.map { comparison in comparison.rivals.map { OperationResult(comparison, $0) } }
        self.rounds = rounds
        self.seed = seed
        self.cpu = cpu
    }

    /// Measures until all is done, or until SIGINT.
    func run(_ progress: Progress) throws {
        var random = SeededRandom(seed: seed)
        let total = results.reduce(0) { $0 + $1.count * rounds }
        var done = 0
        for compared in results {
            for round in 0..<rounds {
                let roundSeed = random.next()
                for result in compared.shuffled(using: &random) {
                    if cbench_stop_requested() {
                        wasInterrupted = true
                        progress.finish()
                        return
                    }
                    progress.show(done: done, of: total, result.rival.id)
                    try measure(result, round: round, seed: roundSeed)
                    done += 1
                }
            }
        }
        progress.finish()
    }

    private func measure(_ result: OperationResult, round: Int, seed: UInt64) throws {
        guard result.skippedBecause == nil else { return }
        try pinned(to: result.comparison.isPinned ? cpu : nil) {
            do {
                result.samples[round] = try result.rival.measure(seed)
            } catch {
                result.skippedBecause = "\(error)"
            }
        }
    }

    /// Runs `body` with the calling thread on one processor, and restores the thread's affinity afterwards. Throws if that
    /// cannot be: no rival could be measured as requested.
    private func pinned(to cpu: Int?, _ body: () -> Void) throws {
        guard let cpu else { return body() }
        let before = cbench_affinity()
        guard cbench_set_affinity(1 << UInt64(cpu)) == 0 else {
            throw BenchError("--cpu takes a processor this process may use; \(cpu) is none")
        }
        defer { cbench_set_affinity(before) }
        body()
    }
}
