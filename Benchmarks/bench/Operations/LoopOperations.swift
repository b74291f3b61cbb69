import CBench
import CHRTimer
import Foundation
import HRTimer
import Synchronization

/// Whole crowds of loop timers, from the first to the last: what one costs among so many. Where it grows with the crowd, a
/// loop searches.
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
                "fire",
                "run a run loop in which so many one-shot timers are due, until all have fired",
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
        to crowd: some Crowd
    ) throws -> OperationSample {
        defer { crowd.clear() }
        return try measureAll(timers) { _ in crowd.add(deadlines.any()) }
    }

    private static func invalidateAll(
        _ timers: Int,
        _ deadlines: inout Deadlines,
        of crowd: some Crowd
    ) throws -> OperationSample {
        defer { crowd.clear() }
        try armPending(timers) { _ in crowd.add(deadlines.any()) }
        // They were added in random order.
        return try measureAll(timers) { crowd.invalidate($0) }
    }

    private static func fireAll(
        _ timers: Int,
        _ deadlines: inout Deadlines,
        of crowd: some Crowd
    ) throws -> OperationSample {
        defer { crowd.clear() }
        let last_ns = cbench_now_ns() + 10_000_000
        try armPending(timers) { _ in crowd.add(last_ns - deadlines.any() % 10_000_000) }
        hrt_clock_sleep_until(HRT_CLOCK_MONOTONIC, last_ns)
        let limit_ns = cbench_now_ns() + 10_000_000_000
        return try measure(timers) {
            while crowd.fired < timers {
                crowd.pass()
                if cbench_now_ns() > limit_ns {
                    throw BenchError("\(crowd.fired.grouped) of \(timers.grouped) timers fired in 10 seconds")
                }
            }
        }
    }

    private static func measureAll(_ timers: Int, _ operation: (_ index: Int) -> Void) throws -> OperationSample {
        try measure(timers) { try armPending(timers) { operation($0) } }
    }

    /// Time and processor time of the whole, for each of so many operations.
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

/// The timers of one run loop, on the thread that made it.
private protocol Crowd: AnyObject {
    func add(_ deadline_ns: Int64)
    /// In order of adding.
    func invalidate(_ index: Int)
    /// Runs the loop once.
    func pass()
    var fired: Int { get }
    func clear()
}

private final class Fired: Sendable {
    private let count = Atomic(0)
    var soFar: Int { count.load(ordering: .relaxed) }
    func addOne() { count.add(1, ordering: .relaxed) }
}

private final class LoopCrowd: Crowd {
    private let loop = TimerLoop()
    private var timers: [LoopTimer] = []
    private let count = Fired()

    func add(_ deadline_ns: Int64) {
        let instant = MonotonicInstant(nanoseconds: deadline_ns)
        let timer = LoopTimer(fireAt: instant, interval: .zero, repeats: false) { [count] _ in count.addOne() }
        loop.add(timer, forMode: .default)
        timers.append(timer)
    }

    func invalidate(_ index: Int) { timers[index].invalidate() }
    func pass() { loop.run(until: .distantPast) }
    var fired: Int { count.soFar }
    func clear() { for timer in timers { timer.invalidate() } }
}

private final class FoundationCrowd: Crowd {
    private var timers: [Timer] = []
    private let count = Fired()

    func add(_ deadline_ns: Int64) {
        let date = Date(timeIntervalSinceNow: Double(deadline_ns - cbench_now_ns()) / 1e9)
        let timer = Timer(fire: date, interval: 0, repeats: false) { [count] _ in count.addOne() }
        RunLoop.current.add(timer, forMode: .default)
        timers.append(timer)
    }

    func invalidate(_ index: Int) { timers[index].invalidate() }
    func pass() { _ = RunLoop.current.run(mode: .default, before: .now) }
    var fired: Int { count.soFar }

    /// The earliest first: a run loop searches for the timer from there.
    func clear() {
        for timer in timers.sorted(by: { $0.fireDate < $1.fireDate }) { timer.invalidate() }
    }
}
