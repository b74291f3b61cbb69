// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CBench
import Seeded

/// A crowd of repeating timers: how many, how often, and how much later each may fire to share a wake-up.
struct CrowdPlan: Sendable {
    enum Phases: String, Sendable, CaseIterable, ExpressibleByArgument {
        case evenlySpread = "even"
        case random
    }

    let timers: Int
    let interval_ns: Int64
    var tolerance_ns: Int64
    let phases: Phases

    /// Returns the timers. Their first deadlines lie within one interval from `start_ns` on. The same seed gives the same
    /// timers.
    func timers(from start_ns: Int64, seed: UInt64) -> [CrowdTimer] {
        var random = SeededRandom(seed: seed)
        return (0..<timers).map { index in
            let phase_ns =
                switch phases {
                case .evenlySpread: Int64(index) * interval_ns / Int64(timers)
                case .random: Int64.random(in: 0..<interval_ns, using: &random)
                }
            return CrowdTimer(first_ns: start_ns + phase_ns, interval_ns: interval_ns, tolerance_ns: tolerance_ns)
        }
    }

    /// Returns the fewest wake-ups that call each of `timers` between each deadline and the end of its tolerance, for the
    /// deadlines whose windows end in `from_ns..<to_ns`. Greedy: a wake-up at the earliest end of a window that has none
    /// yet gives the least number of points that stab all intervals.
    static func leastWakeups(_ timers: [CrowdTimer], from from_ns: Int64, to to_ns: Int64) -> Int {
        var windows: [(end_ns: Int64, deadline_ns: Int64)] = []
        for timer in timers {
            var deadline_ns = timer.first_ns
            if let interval_ns = timer.interval_ns {
                let passed = (from_ns - timer.tolerance_ns - deadline_ns) / interval_ns
                deadline_ns += max(0, passed) * interval_ns
            }
            while deadline_ns + timer.tolerance_ns < to_ns {
                let end_ns = deadline_ns + timer.tolerance_ns
                if end_ns >= from_ns { windows.append((end_ns, deadline_ns)) }
                guard let interval_ns = timer.interval_ns else { break }
                deadline_ns += interval_ns
            }
        }
        windows.sort { $0.end_ns < $1.end_ns }
        var wakeups = 0
        var last_ns = Int64.min
        for window in windows where window.deadline_ns > last_ns {
            wakeups += 1
            last_ns = window.end_ns
        }
        return wakeups
    }

    /// The fires and costs of a crowd while it was watched.
    struct Observation: Sendable {
        let fires: Int
        let took_ns: Int64
        /// The processor time of the whole process, and its two parts.
        let cpu_ns: Int64
        let userCPU_ns: Int64
        let systemCPU_ns: Int64
        /// How often a thread of the process came back from a wait.
        let switches: Int64
        /// The same of the engine's thread alone, by its own count.
        let wakeups: UInt64?
        // Of crowds whose fires are not only counted.
        let early: UInt64
        let missed: UInt64
        let p50_ns: Int64
        let p99_ns: Int64
        let latest_ns: Int64
    }

    /// Arms the crowd, skips two intervals, and watches the crowd for `length_ns`. Ends the crowd before it returns.
    func observe(
        _ crowd: any Crowd,
        for length_ns: Int64,
        seed: UInt64,
        countedBy count: CrowdCount? = nil
    ) throws -> Observation {
        // 20 µs for each timer, so that arming the others makes none late.
        let start_ns = cbench_now_ns() + Int64(timers) * 20_000 + 20_000_000
        let fleet = try Fleet(timers(from: start_ns, seed: seed), countedBy: count)
        defer { withExtendedLifetime(fleet) { crowd.clear() } }
        try crowd.arm(fleet)
        crowd.run(until: max(start_ns, cbench_now_ns()) + 2 * interval_ns)
        cbench_tally_clear(fleet.tally)
        let (firesBefore, wakeupsBefore, before) = (fleet.fires, crowd.wakeups, cbench_usage_now())
        let from_ns = cbench_now_ns()
        crowd.run(until: from_ns + length_ns)
        let took_ns = cbench_now_ns() - from_ns
        let after = cbench_usage_now()
        let fires = fleet.fires - firesBefore
        guard fires > 0 else { throw BenchError("nothing fired in \(timeText(length_ns))") }
        return Observation(
            fires: fires,
            took_ns: took_ns,
            cpu_ns: after.process_cpu_ns - before.process_cpu_ns,
            userCPU_ns: after.user_cpu_ns - before.user_cpu_ns,
            systemCPU_ns: after.system_cpu_ns - before.system_cpu_ns,
            switches: after.voluntary_switches - before.voluntary_switches,
            wakeups: crowd.wakeups.flatMap { after in wakeupsBefore.map { after - $0 } },
            early: cbench_tally_early(fleet.tally),
            missed: cbench_tally_missed(fleet.tally),
            p50_ns: cbench_tally_quantile_ns(fleet.tally, 500_000),
            p99_ns: cbench_tally_quantile_ns(fleet.tally, 990_000),
            latest_ns: cbench_tally_latest_ns(fleet.tally)
        )
    }
}
