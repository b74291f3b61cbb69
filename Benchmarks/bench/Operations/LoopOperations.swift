// SPDX-License-Identifier: Apache-2.0
import CBench
import Foundation
import HRTimer

// Whole crowds of loop timers: the cost of one timer among so many. If the cost grows with the crowd, the loop searches.
extension PublicOperations {
    static func loopComparisons(timers: Int) -> [OperationComparison] {
        [
            comparison(
                "add",
                "make so many timers, and add them to a run loop in random order of deadlines",
                timers,
                .add
            ),
            comparison(
                FireOperations.fire,
                "\(FireOperations.explanation): run by the caller, deadlines in the 10 ms before",
                timers,
                .fire
            ),
            comparison(
                "invalidate",
                "invalidate all of so many timers of a run loop, in random order",
                timers,
                .invalidate
            ),
        ]
    }

    private enum LoopOperation { case add, fire, invalidate }

    private static func comparison(
        _ operation: String,
        _ explanation: String,
        _ timers: Int,
        _ kind: LoopOperation
    ) -> OperationComparison {
        OperationComparison(
            operation: operation,
            explanation: explanation,
            timers: timers,
            baseID: "hrtimer.loop-timer",
            rivals: [
                rival("hrtimer.loop-timer") { try measure(kind, timers, &$0, of: LoopCrowd()) },
                rival("foundation.timer") { try measure(kind, timers, &$0, of: FoundationCrowd()) },
            ]
        )
    }

    private static func measure(
        _ kind: LoopOperation,
        _ timers: Int,
        _ deadlines: inout Deadlines,
        of crowd: some LoopedCrowd
    ) throws -> OperationSample {
        defer { crowd.clear() }
        switch kind {
        case .add:
            return try measureAll(timers) { try armPending(timers) { _ in crowd.add(deadlines.any()) } }
        case .fire:
            return try fireAll(timers, &deadlines, of: crowd)
        case .invalidate:
            try armPending(timers) { _ in crowd.add(deadlines.any()) }
            // In random order, because the timers were added in random order of deadlines.
            return try measureAll(timers) { try armPending(timers) { crowd.invalidate($0) } }
        }
    }

    private static func fireAll(
        _ timers: Int,
        _ deadlines: inout Deadlines,
        of crowd: some LoopedCrowd
    ) throws -> OperationSample {
        let last_ns = cbench_now_ns() + 10_000_000
        try armPending(timers) { _ in crowd.add(last_ns - deadlines.any() % 10_000_000) }
        cbench_sleep_until(last_ns)
        let limit_ns = cbench_now_ns() + 10_000_000_000
        let canCountLocks = cbench_count_locks(true)
        defer { _ = cbench_count_locks(false) }
        let locks = cbench_thread_locks()
        var sample = try measureAll(timers) {
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

    /// Returns what the whole took, divided by the number of timers.
    private static func measureAll(_ timers: Int, _ all: () throws -> Void) throws -> OperationSample {
        let allocations = cbench_thread_allocations()
        let meter = OperationMeter()
        try all()
        var sample = meter.sample(of: timers)
        sample.allocationsPerOp = blocksPerOp(cbench_thread_allocations() - allocations, timers)
        return sample
    }
}

/// The one-shot timers of one run loop, whose handlers only count, on the thread that created it.
private protocol LoopedCrowd: AnyObject {
    var count: CrowdCount { get }
    func add(_ deadline_ns: Int64)
    /// The index counts timers in the order in which they were added.
    func invalidate(_ index: Int)
    /// Runs the loop once.
    func pass()
    func clear()
}

private final class LoopCrowd: LoopedCrowd {
    let count = CrowdCount()
    private let loop = TimerLoop()
    private var timers: [LoopTimer] = []

    func add(_ deadline_ns: Int64) {
        let deadline = MonotonicInstant(nanoseconds: deadline_ns)
        let timer = LoopTimer(fireAt: deadline, interval: .zero, repeats: false) { [count] _ in count.addOne() }
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

    func add(_ deadline_ns: Int64) {
        let date = PublicOperations.date(deadline_ns)
        let timer = Timer(fire: date, interval: 0, repeats: false) { [count] _ in count.addOne() }
        RunLoop.current.add(timer, forMode: .default)
        timers.append(timer)
    }

    func invalidate(_ index: Int) { timers[index].invalidate() }
    func pass() { _ = RunLoop.current.run(mode: .default, before: .now) }
    func clear() { PublicOperations.invalidate(timers) }
}
