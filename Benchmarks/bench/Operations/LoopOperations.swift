import CBench
import CHRTimer
import Foundation
import HRTimer

/// Whole crowds of loop timers: the cost of one timer among so many. If the cost grows with the crowd, the loop searches.
extension PublicOperations {
    static func loopComparisons(timers: Int) -> [OperationComparison] {
        [
            comparison(
                "add",
                "make so many timers, and add them to a run loop in random order of deadlines",
                timers,
                ours: { try addAll(timers, &$0, to: LoopCrowd()) },
                foundations: { try addAll(timers, &$0, to: FoundationCrowd()) }
            ),
            comparison(
                FireOperations.fire,
                "\(FireOperations.explanation): run by the caller, deadlines in the 10 ms before",
                timers,
                ours: { try fireAll(timers, &$0, of: LoopCrowd()) },
                foundations: { try fireAll(timers, &$0, of: FoundationCrowd()) }
            ),
            comparison(
                "invalidate",
                "invalidate all of so many timers of a run loop, in random order",
                timers,
                ours: { try invalidateAll(timers, &$0, of: LoopCrowd()) },
                foundations: { try invalidateAll(timers, &$0, of: FoundationCrowd()) }
            ),
        ]
    }

    private static func comparison(
        _ operation: String,
        _ explanation: String,
        _ timers: Int,
        ours: @escaping @Sendable (inout Deadlines) throws -> OperationSample,
        foundations: @escaping @Sendable (inout Deadlines) throws -> OperationSample
    ) -> OperationComparison {
        OperationComparison(
            operation: operation,
            explanation: explanation,
            timers: timers,
            baseID: "hrtimer.loop-timer",
            isPinned: false,
            isExtra: false,
            rivals: [rival("hrtimer.loop-timer", ours), rival("foundation.timer", foundations)]
        )
    }

    private static func addAll(
        _ timers: Int,
        _ deadlines: inout Deadlines,
        to crowd: some LoopedCrowd
    ) throws -> OperationSample {
        defer { crowd.clear() }
        return try measureAll(timers) { _ in crowd.add(CrowdTimer(first_ns: deadlines.any())) }
    }

    private static func invalidateAll(
        _ timers: Int,
        _ deadlines: inout Deadlines,
        of crowd: some LoopedCrowd
    ) throws -> OperationSample {
        defer { crowd.clear() }
        try armPending(timers) { _ in crowd.add(CrowdTimer(first_ns: deadlines.any())) }
        // In random order, because the timers were added in random order of deadlines.
        return try measureAll(timers) { crowd.invalidate($0) }
    }

    private static func fireAll(
        _ timers: Int,
        _ deadlines: inout Deadlines,
        of crowd: some LoopedCrowd
    ) throws -> OperationSample {
        defer { crowd.clear() }
        let last_ns = cbench_now_ns() + 10_000_000
        try armPending(timers) { _ in crowd.add(CrowdTimer(first_ns: last_ns - deadlines.any() % 10_000_000)) }
        cbench_sleep_until(last_ns)
        let limit_ns = cbench_now_ns() + 10_000_000_000
        let canCountLocks = cbench_count_locks(true)
        defer { _ = cbench_count_locks(false) }
        let locks = cbench_thread_locks()
        var sample = try measure(timers) {
            while crowd.count.soFar < timers {
                crowd.pass()
                if cbench_now_ns() > limit_ns {
                    throw BenchError("\(crowd.count.soFar.grouped) of \(timers.grouped) timers fired in 10 seconds")
                }
            }
        }
        let taken = cbench_thread_locks() - locks
        if canCountLocks, taken > 0 { sample.locksPerOp = Double(taken) / Double(timers) }
        return sample
    }

    private static func measureAll(_ timers: Int, _ operation: (_ index: Int) -> Void) throws -> OperationSample {
        try measure(timers) { try armPending(timers) { operation($0) } }
    }

    /// Returns time and processor time of the whole, divided by the number of operations.
    private static func measure(_ operations: Int, _ all: () throws -> Void) throws -> OperationSample {
        let allocations = cbench_thread_allocations()
        let before = cbench_usage_now()
        let start_ns = cbench_now_ns()
        try all()
        let took_ns = cbench_now_ns() - start_ns
        let cpu_ns = cbench_usage_now().process_cpu_ns - before.process_cpu_ns
        return OperationSample(
            nsPerOp: Double(took_ns) / Double(operations),
            cpuPerOp_ns: Double(cpu_ns) / Double(operations),
            allocationsPerOp: blocksPerOp(cbench_thread_allocations() - allocations, operations)
        )
    }
}

/// The timers of one run loop, on the thread that created it.
private protocol LoopedCrowd: Crowd {
    /// The index counts timers in the order in which they were added.
    func invalidate(_ index: Int)
    /// Runs the loop once.
    func pass()
}

private final class LoopCrowd: LoopedCrowd {
    let count = CrowdCount()
    private let loop = TimerLoop()
    private var timers: [LoopTimer] = []

    func add(_ timer: CrowdTimer) {
        let timer = LoopTimer(
            fireAt: MonotonicInstant(nanoseconds: timer.first_ns),
            interval: .nanoseconds(timer.interval_ns ?? 0),
            repeats: timer.interval_ns != nil
        ) { [count] _ in count.addOne() }
        loop.add(timer, forMode: .default)
        timers.append(timer)
    }

    func invalidate(_ index: Int) { timers[index].invalidate() }
    func pass() { loop.run(until: .distantPast) }
    func clear() { for timer in timers { timer.invalidate() } }
}

private final class FoundationCrowd: LoopedCrowd {
    let count = CrowdCount()
    private var timers: [Timer] = []

    func add(_ timer: CrowdTimer) {
        let date = Date(timeIntervalSinceNow: Double(timer.first_ns - cbench_now_ns()) / 1e9)
        let interval = Double(timer.interval_ns ?? 0) / 1e9
        let timer = Timer(fire: date, interval: interval, repeats: timer.interval_ns != nil) { [count] _ in
            count.addOne()
        }
        RunLoop.current.add(timer, forMode: .default)
        timers.append(timer)
    }

    func invalidate(_ index: Int) { timers[index].invalidate() }
    func pass() { _ = RunLoop.current.run(mode: .default, before: .now) }

    /// Invalidates the earliest timer first, because a run loop searches for the timer from there.
    func clear() {
        for timer in timers.sorted(by: { $0.fireDate < $1.fireDate }) { timer.invalidate() }
    }
}
