import CBench
import Seeded

/// One run of `bench crowd`: each rival with each tolerance, in rounds of random order.
final class CrowdSession {
    /// A rival with one tolerance.
    struct Entry: Sendable {
        let rival: CrowdRival
        let tolerance_ns: Int64
    }

    /// The result of one round of one entry, while it was watched.
    struct Sample: Sendable {
        let fires: UInt64
        let early: UInt64
        let missed: UInt64
        let took_ns: Int64
        let p50_ns: Int64
        let p99_ns: Int64
        let latest_ns: Int64
        let cpu_ns: Int64
        let userCPU_ns: Int64
        let systemCPU_ns: Int64
        let wakeups: Int64
    }

    /// All rounds of one entry.
    final class Result {
        let entry: Entry
        fileprivate(set) var samples: [Sample] = []
        fileprivate(set) var skippedBecause: String?

        init(_ entry: Entry) {
            self.entry = entry
        }

        private func middle(_ value: (Sample) -> Double) -> Double? { median(samples.map(value)) }

        var firesPerSecond: Double? { middle { Double($0.fires) * 1e9 / Double($0.took_ns) } }
        var cpuPerFire_ns: Double? { middle { Double($0.cpu_ns) / Double($0.fires) } }
        var userCPUPerFire_ns: Double? { middle { Double($0.userCPU_ns) / Double($0.fires) } }
        var systemCPUPerFire_ns: Double? { middle { Double($0.systemCPU_ns) / Double($0.fires) } }
        var wakeupsPerFire: Double? { middle { Double($0.wakeups) / Double($0.fires) } }
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
                try Self.watch(try entry.rival.make(), plan, length_ns: length_ns, seed: seed)
            }
            result.samples.append(sample)
        } catch {
            result.skippedBecause = "\(error)"
        }
    }

    /// Arms the crowd, skips two intervals, and watches it.
    private static func watch(
        _ crowd: any RatedCrowd,
        _ plan: CrowdPlan,
        length_ns: Int64,
        seed: UInt64
    ) throws -> Sample {
        // 20 µs for each timer, so that arming the others makes none late.
        let start_ns = cbench_now_ns() + Int64(plan.timers) * 20_000 + 20_000_000
        let fleet = try Fleet(plan.timers(from: start_ns, seed: seed))
        defer { withExtendedLifetime(fleet) { crowd.clear() } }
        try crowd.arm(fleet)
        crowd.run(until: max(start_ns, cbench_now_ns()) + 2 * plan.interval_ns)
        cbench_tally_clear(fleet.tally)
        let before = cbench_usage_now()
        let from_ns = cbench_now_ns()
        crowd.run(until: from_ns + length_ns)
        let took_ns = cbench_now_ns() - from_ns
        let after = cbench_usage_now()
        let fires = cbench_tally_fires(fleet.tally)
        guard fires > 0 else { throw BenchError("nothing fired in \(timeText(length_ns))") }
        return Sample(
            fires: fires,
            early: cbench_tally_early(fleet.tally),
            missed: cbench_tally_missed(fleet.tally),
            took_ns: took_ns,
            p50_ns: cbench_tally_quantile_ns(fleet.tally, 500_000),
            p99_ns: cbench_tally_quantile_ns(fleet.tally, 990_000),
            latest_ns: cbench_tally_latest_ns(fleet.tally),
            cpu_ns: after.process_cpu_ns - before.process_cpu_ns,
            userCPU_ns: after.user_cpu_ns - before.user_cpu_ns,
            systemCPU_ns: after.system_cpu_ns - before.system_cpu_ns,
            wakeups: after.voluntary_switches - before.voluntary_switches
        )
    }
}
