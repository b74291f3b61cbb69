// SPDX-License-Identifier: Apache-2.0
import CBench
import Seeded

/// One run of `bench crowd`: each rival with each tolerance, in rounds of random order.
final class CrowdSession {
    /// A rival with one tolerance.
    struct Entry: Sendable {
        let rival: CrowdRival
        let tolerance_ns: Int64
    }

    /// All rounds of one entry.
    final class Result {
        let entry: Entry
        fileprivate(set) var samples: [CrowdPlan.Observation] = []
        fileprivate(set) var skippedBecause: String?

        init(_ entry: Entry) {
            self.entry = entry
        }

        private func middle(_ value: (CrowdPlan.Observation) -> Double) -> Double? { median(samples.map(value)) }

        var firesPerSecond: Double? { middle { Double($0.fires) * 1e9 / Double($0.took_ns) } }
        var cpuPerFire_ns: Double? { middle { Double($0.cpu_ns) / Double($0.fires) } }
        var userCPUPerFire_ns: Double? { middle { Double($0.userCPU_ns) / Double($0.fires) } }
        var systemCPUPerFire_ns: Double? { middle { Double($0.systemCPU_ns) / Double($0.fires) } }
        var wakeupsPerFire: Double? { middle { Double($0.switches) / Double($0.fires) } }
        var p50_ns: Double? { middle { Double($0.p50_ns) } }
        var p99_ns: Double? { middle { Double($0.p99_ns) } }
        var latest_ns: Int64? { samples.map(\.latest_ns).max() }
        var early: UInt64 { samples.reduce(0) { $0 + $1.early } }
        var missed: UInt64 { samples.reduce(0) { $0 + $1.missed } }
    }

    let plan: CrowdPlan
    let results: [Result]
    let rounds: Int
    let length_ns: Int64
    let seed: UInt64
    private(set) var wasInterrupted = false

    init(_ plan: CrowdPlan, _ entries: [Entry], rounds: Int, length_ns: Int64, seed: UInt64) {
        self.plan = plan
        self.rounds = rounds
        self.length_ns = length_ns
        self.seed = seed
        results = entries.map(Result.init)
    }

    func run(_ progress: Progress) {
        var random = SeededRandom(seed: seed)
        var done = 0
        for _ in 0..<rounds {
            let roundSeed = random.next()
            for index in results.indices.shuffled(using: &random) where !wasInterrupted {
                progress.show(done: done, of: rounds * results.count, results[index].entry.rival.id)
                measure(results[index], seed: roundSeed)
                done += 1
                wasInterrupted = cbench_stop_requested()
            }
        }
        progress.finish()
    }

    private func measure(_ result: Result, seed: UInt64) {
        guard result.skippedBecause == nil else { return }
        let entry = result.entry
        var plan = plan
        plan.tolerance_ns = entry.tolerance_ns
        do {
            // A fresh thread, so that run loops of one rival, and what it leaves behind, do not affect the next.
            let sample = try onFreshThread { [plan, length_ns] in
                try plan.observe(try entry.rival.make(), for: length_ns, seed: seed)
            }
            result.samples.append(sample)
        } catch {
            result.skippedBecause = "\(error)"
        }
    }
}
