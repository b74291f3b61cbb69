import CBench
import CHRTimer
import Seeded

/// One run of `bench ops`: comparisons one after the other, the rounds of each interleaved.
///
/// Everything happens on the thread that calls `run`, or on threads that have ended before it continues.
final class OperationSession {
    let comparisons: [ComparisonResult]
    let rounds: Int
    let seed: UInt64
    /// The processor for pinned comparisons; nil for any.
    let cpu: Int?
    private(set) var wasInterrupted = false

    init(_ comparisons: [OperationComparison], rounds: Int, seed: UInt64, cpu: Int?) {
        self.comparisons = comparisons.map(ComparisonResult.init)
        self.rounds = rounds
        self.seed = seed
        self.cpu = cpu
    }

    /// Measures until all is done, or until SIGINT.
    func run(_ progress: Progress) throws {
        var random = SeededRandom(seed: seed)
        let total = comparisons.reduce(0) { $0 + $1.results.count * rounds }
        var done = 0
        for comparison in comparisons {
            for round in 0..<rounds {
                let roundSeed = random.next()
                for index in comparison.results.indices.shuffled(using: &random) {
                    if cbench_stop_requested() {
                        wasInterrupted = true
                        progress.finish()
                        return
                    }
                    progress.show(done: done, of: total, comparison.comparison.rivals[index].id)
                    try measure(comparison, index, round: round, seed: roundSeed)
                    done += 1
                }
            }
        }
        progress.finish()
    }

    private func measure(_ comparison: ComparisonResult, _ index: Int, round: Int, seed: UInt64) throws {
        let result = comparison.results[index]
        guard result.skippedBecause == nil else { return }
        let rival = comparison.comparison.rivals[index]
        do {
            let sample = try pinned(to: comparison.comparison.isPinned ? cpu : nil) { try rival.measure(seed) }
            result.add(sample, round: round)
        } catch let error as CannotPin {
            throw error
        } catch {
            result.skippedBecause = "\(error)"
        }
    }

    /// Runs `body` with the calling thread on one processor, and restores the thread's affinity afterwards.
    private func pinned<Result>(to cpu: Int?, _ body: () throws -> Result) throws -> Result {
        guard let cpu else { return try body() }
        let before = cbench_affinity()
        guard cbench_set_affinity(1 << UInt64(cpu)) == 0 else { throw CannotPin(cpu: cpu) }
        defer { cbench_set_affinity(before) }
        return try body()
    }
}

/// Not a reason to skip one rival: no rival could be measured as requested.
struct CannotPin: Error, CustomStringConvertible {
    let cpu: Int

    var description: String { "--cpu takes a processor this process may use; \(cpu) is none" }
}
