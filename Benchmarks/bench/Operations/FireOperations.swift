// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import Glibc

/// Timers that fire on a separate thread: the time from the instant at which all are due to the last handler. Timers that
/// fire on the caller's run loop are in LoopOperations.swift.
enum FireOperations {
    static let fire = "fire"
    static let explanation =
        "so many one-shot timers are due, each with a handler that counts; until all have been called"

    static func comparison(timers: Int) -> OperationComparison {
        OperationComparison(
            operation: fire,
            explanation: "\(explanation): on the engine's thread, or on one serial queue, all due at one instant",
            timers: timers,
            baseID: "hrtimer.source",
            rivals: [
                OperationRival(id: "hrtimer.engine") { _ in try fireAll(timers) { try EngineCrowd() } },
                OperationRival(id: "hrtimer.source") { _ in try fireAll(timers) { try SourceCrowd() } },
                OperationRival(id: "dispatch.source") { _ in try fireAll(timers) { DispatchCrowd() } },
                OperationRival(id: "limit.locks-and-clock") { _ in try fireAll(timers) { LimitCrowd() } },
                OperationRival(id: "limit.locks-and-clock.owner-asked-unlocked") { _ in
                    try fireAll(timers) { LimitCrowd(asksUnlocked: true) }
                },
            ] + rated(timers)
        )
    }

    /// Measures one crowd.
    static func fireAll(
        _ timers: Int,
        _ make: () throws -> any Crowd
    ) throws -> OperationSample {
        try withPatience(timers) { lead_ns in
            let count = CrowdCount(goal: timers)
            let crowd = try make()
            let due_ns = cbench_now_ns() + lead_ns
            let fleet = try Fleet(Array(repeating: CrowdTimer(first_ns: due_ns), count: timers), countedBy: count)
            defer { withExtendedLifetime(fleet) { crowd.clear() } }
            try crowd.arm(fleet)
            return try awaitFires(timers, count, due_ns)
        }
    }

    /// Calls `measure` with the time in which it shall arm so many timers. If it returns nil, as arming them took longer,
    /// because the machine is busy, calls it again with more time.
    private static func withPatience(
        _ timers: Int,
        _ measure: (_ lead_ns: Int64) throws -> OperationSample?
    ) throws -> OperationSample {
        for patience: Int64 in [1, 2, 4, 8, 16] {
            // The time also covers timers that another thread arms.
            if let sample = try measure(patience * (20_000_000 + Int64(timers) * 20_000)) { return sample }
        }
        throw BenchError("to arm them took longer than there was time for")
    }

    /// Returns nil if the timers are due already.
    private static func awaitFires(_ timers: Int, _ count: CrowdCount, _ due_ns: Int64) throws -> OperationSample? {
        cbench_sleep_until(due_ns - 2_000_000)
        let canCountLocks = cbench_count_locks(true)
        defer { _ = cbench_count_locks(false) }
        let before = cbench_usage_now()
        guard cbench_now_ns() < due_ns else { return nil }
        guard let (first, last) = count.waitForGoal() else {
            throw BenchError("\(count.soFar.grouped) of \(timers.grouped) timers fired in 10 seconds")
        }
        // Known if one thread called all handlers.
        let isOneThread = first.usage.thread_id == last.usage.thread_id
        let locks = canCountLocks && isOneThread && timers > 1 ? last.locks - first.locks : 0
        return OperationSample(
            nsPerOp: Double(last.now_ns - due_ns) / Double(timers),
            cpuPerOp_ns: Double(last.usage.process_cpu_ns - before.process_cpu_ns) / Double(timers),
            // Every fire takes at least one lock: 0 means that this build does not count them.
            locksPerOp: locks > 0 ? Double(locks) / Double(timers - 1) : nil,
            early: first.now_ns < due_ns ? 1 : 0
        )
    }

    /// Returns further rivals of `bench crowd`, implemented as they are there.
    private static func rated(_ timers: Int) -> [OperationRival] {
        let ids = [
            "hrtimer.source.dispatch-queue.normal", "hrtimer.clock-sleep.normal", "hrtimer.executor-sleep.normal",
            "swift.task-sleep", "libevent.timer", "nio.schedule-callback",
        ]
        return CrowdRival.all.filter { ids.contains($0.id) }.map { rival in
            OperationRival(id: rival.id) { _ in try onFreshThread { try fireAll(timers, rival) } }
        }
    }

    private static func fireAll(_ timers: Int, _ rival: CrowdRival) throws -> OperationSample {
        try withPatience(timers) { lead_ns in
            let crowd = try rival.make()
            let due_ns = cbench_now_ns() + lead_ns
            let fleet = try Fleet(Array(repeating: CrowdTimer(first_ns: due_ns), count: timers))
            defer { withExtendedLifetime(fleet) { crowd.clear() } }
            try crowd.arm(fleet)
            guard cbench_now_ns() < due_ns - 1_000_000 else { return nil }
            let before = cbench_usage_now()
            let limit_ns = due_ns + 10_000_000_000
            while cbench_tally_fires(fleet.tally) < UInt64(timers), cbench_now_ns() < limit_ns {
                crowd.run(until: max(due_ns, cbench_now_ns()) + 1_000_000)
            }
            let fired = cbench_tally_fires(fleet.tally)
            guard fired == UInt64(timers) else {
                throw BenchError("\(Int(fired).grouped) of \(timers.grouped) timers fired in 10 seconds")
            }
            return OperationSample(
                nsPerOp: Double(cbench_tally_latest_ns(fleet.tally)) / Double(timers),
                cpuPerOp_ns: Double(cbench_usage_now().process_cpu_ns - before.process_cpu_ns) / Double(timers),
                // libevent counts from its own reading of the clock, in whole microseconds: early fires are not its fault.
                early: rival.id.hasPrefix("libevent.") ? 0 : cbench_tally_early(fleet.tally)
            )
        }
    }
}
