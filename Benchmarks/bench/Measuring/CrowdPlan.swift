import CBench
import Glibc
import Seeded

/// A crowd of repeating timers: how many, how often, and how much later each may fire to share a wake-up.
struct CrowdPlan: Sendable {
    enum Phases: Sendable, Equatable {
        case evenlySpread, random
        /// A number of groups, the timers of each due at the same instant, like timeouts that one event armed.
        case clusters(Int)
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
                case .clusters(let clusters): Int64(index % clusters) * interval_ns / Int64(clusters)
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
    struct Observation {
        let fires: Int
        let took_ns: Int64
        /// The processor time of the whole process.
        let cpu_ns: Int64
        let wakeups: UInt64?
    }

    /// Arms the crowd, skips two intervals, and watches the crowd for `length_ns`. Ends the crowd before it returns.
    func observe(_ crowd: some Crowd, for length_ns: Int64, seed: UInt64) throws -> Observation {
        defer { crowd.clear() }
        // 10 µs for each timer, so that arming the others makes none late.
        let start_ns = cbench_now_ns() + Int64(timers) * 10_000 + 10_000_000
        let timers = timers(from: start_ns, seed: seed)
        try armPending(timers.count) { crowd.add(timers[$0]) }
        sleep(until: max(start_ns, cbench_now_ns()) + 2 * interval_ns)
        let before = Look(crowd)
        sleep(until: before.now_ns + length_ns)
        let after = Look(crowd)
        guard after.fires > before.fires else { throw BenchError("nothing fired") }
        return Observation(
            fires: after.fires - before.fires,
            took_ns: after.now_ns - before.now_ns,
            cpu_ns: after.cpu_ns - before.cpu_ns,
            wakeups: after.wakeups.flatMap { after in before.wakeups.map { after - $0 } }
        )
    }

    private struct Look {
        let now_ns = cbench_now_ns()
        let cpu_ns = cbench_usage_now().process_cpu_ns
        let fires: Int
        let wakeups: UInt64?

        init(_ crowd: some Crowd) {
            fires = crowd.count.soFar
            wakeups = crowd.wakeups
        }
    }

    private func sleep(until instant_ns: Int64) {
        while cbench_now_ns() < instant_ns {
            usleep(UInt32(clamping: min(500_000, (instant_ns - cbench_now_ns()) / 1000 + 1)))
        }
    }
}
