// SPDX-License-Identifier: Apache-2.0
import HRTimer

/// The effect of tolerance: fewer wake-ups, and less processor time. Measured on the real clock.
enum CoalesceOperations {
    private static let watched_ns: Int64 = 1_000_000_000

    /// Returns all comparisons. `ownTimers` is the number of timers from the command line.
    static func comparisons(ownTimers: Int?) -> [OperationComparison] {
        [
            wakeups("wakeups-100hz", every: 10_000_000, timers: ownTimers ?? 1000),
            wakeups("wakeups-10hz", every: 100_000_000, timers: ownTimers ?? 1000),
            cpuPerFire(timers: ownTimers ?? 10_000),
        ]
    }

    private static func wakeups(_ operation: String, every interval_ns: Int64, timers: Int) -> OperationComparison {
        let plan = CrowdPlan(
            timers: timers,
            interval_ns: interval_ns,
            tolerance_ns: interval_ns / 10,
            phases: .random
        )
        return OperationComparison(
            operation: operation,
            explanation:
                "wake-ups a second of a .coalesced engine for timers at \(1_000_000_000 / interval_ns) Hz, in random "
                + "phases, with 10 % of tolerance; ratio to the fewest that can serve them",
            timers: timers,
            baseID: "limit.greedy",
            rivals: [
                OperationRival(id: "limit.greedy") { seed in
                    let least = greedyPerSecond(plan, seed)
                    return OperationSample(wakeupsPerSecond: least, greedyWakeupsPerSecond: least)
                },
                OperationRival(id: "hrtimer.engine") { seed in
                    var sample = try sample(plan, EngineCrowd(.coalesced), seed)
                    sample.greedyWakeupsPerSecond = greedyPerSecond(plan, seed)
                    return sample
                },
            ]
        )
    }

    /// Returns the fewest wake-ups per second. The timers repeat at every interval, so that any ten intervals have the rate
    /// of all.
    private static func greedyPerSecond(_ plan: CrowdPlan, _ seed: UInt64) -> Double {
        let length_ns = 10 * plan.interval_ns
        let timers = plan.timers(from: 0, seed: seed)
        let least = CrowdPlan.leastWakeups(timers, from: length_ns, to: 2 * length_ns)
        return Double(least) * 1e9 / Double(length_ns)
    }

    private static func cpuPerFire(timers: Int) -> OperationComparison {
        let plan = CrowdPlan(
            timers: timers,
            interval_ns: 100_000_000,
            tolerance_ns: 10_000_000,
            phases: .evenlySpread
        )
        return OperationComparison(
            operation: "coalesce",
            explanation:
                "processor time a fire of timers at 10 Hz, evenly spread, that may be 10 ms late, on .coalesced "
                + "engines; ratio of processor times",
            timers: timers,
            baseID: "hrtimer.engine",
            rivals: [
                OperationRival(id: "hrtimer.engine") { try sample(plan, EngineCrowd(.coalesced), $0) },
                OperationRival(id: "hrtimer.source") { try sample(plan, SourceCrowd(.coalesced), $0) },
                OperationRival(id: "dispatch.source") { try sample(plan, DispatchCrowd(), $0) },
            ]
        )
    }

    private static func sample(_ plan: CrowdPlan, _ crowd: any Crowd, _ seed: UInt64) throws -> OperationSample {
        let seen = try plan.observe(crowd, for: watched_ns, seed: seed, countedBy: CrowdCount())
        return OperationSample(
            cpuPerOp_ns: Double(seen.cpu_ns) / Double(seen.fires),
            wakeupsPerSecond: seen.wakeups.map { Double($0) * 1e9 / Double(seen.took_ns) }
        )
    }
}
