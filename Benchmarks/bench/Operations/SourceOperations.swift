import CBench
import Dispatch
import Glibc
import HRTimer
import Synchronization

/// The costs of a source compared with Dispatch's, where queues or several threads take part.
enum SourceOperations {
    static func comparisons(ownTimers: Int?) -> [OperationComparison] {
        [
            workNow, sourceNow, churnOnThreads(pending: ownTimers ?? 1000), moveOnThreads(pending: ownTimers ?? 1000),
        ]
    }

    private static func comparison(
        _ operation: String,
        _ explanation: String,
        timers: Int,
        baseID: String = "hrtimer.source",
        _ rivals: [OperationRival]
    ) -> OperationComparison {
        OperationComparison(
            operation: operation,
            explanation: explanation,
            timers: timers,
            baseID: baseID,
            isPinned: false,
            isExtra: true,
            rivals: rivals
        )
    }
}

// Work that is due at once, on a serial queue.
extension SourceOperations {
    private static var workNow: OperationComparison {
        comparison(
            "work-now-on-queue",
            "give a serial queue a closure that is due now, one after another, until all have run",
            timers: 1,
            baseID: "hrtimer.engine",
            [
                PublicOperations.rival("hrtimer.engine") { _ in
                    try PublicOperations.withEngine { engine in
                        post { queue, count in engine.schedule(at: .now, on: queue) { count.addOne() } }
                    }
                },
                PublicOperations.rival("dispatch.async-after") { _ in
                    post { queue, count in queue.asyncAfter(deadline: .now()) { count.addOne() } }
                },
                // The call in which each of them ends.
                PublicOperations.rival("limit.async") { _ in
                    post { queue, count in queue.async { count.addOne() } }
                },
            ]
        )
    }

    private static func post(_ one: (DispatchQueue, CrowdCount) -> Void) -> OperationSample {
        let queue = DispatchQueue(label: "bench.work")
        let count = CrowdCount()
        return OperationLoop().measure(drain: { queue.sync {} }) { _ in one(queue, count) }
    }

    private static let calls = 50_000

    private static var sourceNow: OperationComparison {
        comparison(
            "source-now-on-queue",
            "a source on a serial queue that its handler schedules for now, again and again",
            timers: 1,
            [
                PublicOperations.rival("hrtimer.source") { _ in
                    try PublicOperations.withEngine { engine in
                        try chain { queue, count in
                            let source = TimerSource(engine: engine, queue: queue)
                            source.setEventHandler { [unowned source] in
                                count.addOne()
                                if count.soFar < calls { source.schedule(deadline: .now) }
                            }
                            source.schedule(deadline: .now)
                            source.activate()
                            return { source.cancel() }
                        }
                    }
                },
                PublicOperations.rival("dispatch.source") { _ in
                    try chain { queue, count in
                        let source = DispatchSource.makeTimerSource(queue: queue)
                        // The source retains itself through its handler until it is cancelled.
                        source.setEventHandler {
                            count.addOne()
                            if count.soFar < calls { source.schedule(deadline: .now()) }
                        }
                        source.schedule(deadline: .now())
                        source.activate()
                        return { source.cancel() }
                    }
                },
            ]
        )
    }

    private static func chain(_ begin: (DispatchQueue, CrowdCount) -> () -> Void) throws -> OperationSample {
        let count = CrowdCount(goal: calls)
        let end = begin(DispatchQueue(label: "bench.chain"), count)
        defer { end() }
        guard let (first, last) = count.waitForGoal() else {
            throw BenchError("only \(count.soFar) calls in 10 seconds")
        }
        let cpu_ns = last.usage.process_cpu_ns - first.usage.process_cpu_ns
        return OperationSample(
            nsPerOp: Double(last.now_ns - first.now_ns) / Double(calls - 1),
            cpuPerOp_ns: Double(cpu_ns) / Double(calls - 1)
        )
    }
}

// Operations on several threads.
extension SourceOperations {
    private static let threads = 4
    private static let operationsOfThread = 25_000

    private static func churnOnThreads(pending: Int) -> OperationComparison {
        comparison(
            "create-arm-cancel-destroy-threads",
            "create-arm-cancel-destroy by \(threads) threads at once: sources of a group of engines, one engine each, beside one "
                + "shared engine; Dispatch with a queue each; wall time over all operations",
            timers: pending,
            [
                OperationRival("hrtimer.source") { seed in
                    try onGroup { group in
                        try onThreads(seed) { thread, deadlines in
                            churn(pending, group.engine(for: thread), &deadlines)
                        }
                    }
                },
                OperationRival("hrtimer.source.one-engine") { seed in
                    try PublicOperations.withEngine { engine in
                        try onThreads(seed) { _, deadlines in churn(pending, engine, &deadlines) }
                    }
                },
                OperationRival("dispatch.source") { seed in
                    try onThreads(seed) { _, deadlines in churnDispatch(pending, &deadlines) }
                },
            ]
        )
    }

    private static func moveOnThreads(pending: Int) -> OperationComparison {
        comparison(
            "move-threads",
            "\(threads) threads take the deadlines of their sources back and arm them anew, earlier or later: a group of engines "
                + "beside one shared engine and Dispatch; wall time over all operations",
            timers: pending,
            [
                OperationRival("hrtimer.source") { seed in
                    try onGroup { group in
                        try onThreads(seed) { thread, deadlines in
                            move(pending, group.engine(for: thread), &deadlines)
                        }
                    }
                },
                OperationRival("hrtimer.source.one-engine") { seed in
                    try PublicOperations.withEngine { engine in
                        try onThreads(seed) { _, deadlines in move(pending, engine, &deadlines) }
                    }
                },
                OperationRival("dispatch.source") { seed in
                    try onThreads(seed) { _, deadlines in moveDispatch(pending, &deadlines) }
                },
            ]
        )
    }

    private static func onGroup<Result>(_ body: (TimerEngineGroup) throws -> Result) throws -> Result {
        let group = try TimerEngineGroup(count: threads, .init(name: "bench-ops"))
        defer { group.shutdown() }
        return try body(group)
    }

    private static func source(_ engine: TimerEngine, _ deadlines: inout Deadlines) -> TimerSource {
        let source = TimerSource(engine: engine)
        source.setEventHandler(handler: PublicOperations.makeHandler())
        source.schedule(deadline: MonotonicInstant(nanoseconds: deadlines.any()))
        source.activate()
        return source
    }

    private static func share(_ pending: Int) -> Int { max(1, pending / threads) }

    private static func churn(_ pending: Int, _ engine: TimerEngine, _ deadlines: inout Deadlines) -> Span {
        let others = (0..<share(pending)).map { _ in source(engine, &deadlines) }
        defer { others.forEach { $0.cancel() } }
        return spanOf { _ in source(engine, &deadlines).cancel() }
    }

    private static func move(_ pending: Int, _ engine: TimerEngine, _ deadlines: inout Deadlines) -> Span {
        let sources = (0..<share(pending)).map { _ in source(engine, &deadlines) }
        defer { sources.forEach { $0.cancel() } }
        let owned = Owned(sources)
        return spanOf { _ in
            let deadline = MonotonicInstant(nanoseconds: deadlines.any())
            owned.with(deadlines.timer(below: sources.count)) {
                $0.schedule(deadline: .distantFuture)
                $0.schedule(deadline: deadline)
            }
        }
    }

    private static func churnDispatch(_ pending: Int, _ deadlines: inout Deadlines) -> Span {
        let queue = DispatchQueue(label: "bench.ops")
        let others = (0..<share(pending)).map { _ in
            PublicOperations.dispatchSource(deadlines.any(), on: queue)
        }
        defer { others.forEach { $0.cancel() } }
        return spanOf(drain: { queue.sync {} }) { _ in
            PublicOperations.dispatchSource(deadlines.any(), on: queue).cancel()
        }
    }

    private static func moveDispatch(_ pending: Int, _ deadlines: inout Deadlines) -> Span {
        let queue = DispatchQueue(label: "bench.ops")
        let sources = (0..<share(pending)).map { _ in
            PublicOperations.dispatchSource(deadlines.any(), on: queue)
        }
        defer { sources.forEach { $0.cancel() } }
        let owned = Owned(sources.compactMap { $0 as? DispatchSource })
        return spanOf(drain: { queue.sync {} }) { _ in
            let deadline = DispatchTime(instant_ns: deadlines.any())
            owned.with(deadlines.timer(below: sources.count)) {
                $0.schedule(deadline: .distantFuture)
                $0.schedule(deadline: deadline)
            }
        }
    }

    /// The time in which one thread operated.
    private struct Span: Sendable {
        let start_ns: Int64
        let end_ns: Int64
    }

    private static func spanOf(drain: () -> Void = {}, _ operation: (_ index: Int) -> Void) -> Span {
        let start_ns = cbench_now_ns()
        for index in 0..<operationsOfThread { operation(index) }
        drain()
        return Span(start_ns: start_ns, end_ns: cbench_now_ns())
    }

    private static func onThreads(
        _ seed: UInt64,
        _ body: @escaping @Sendable (_ thread: Int, inout Deadlines) -> Span
    ) throws -> OperationSample {
        let before = cbench_usage_now()
        let spans = try onFreshThreads(threads) { thread in
            var deadlines = Deadlines(seed: seed &+ UInt64(thread))
            return body(thread, &deadlines)
        }
        let cpu_ns = cbench_usage_now().process_cpu_ns - before.process_cpu_ns
        let took_ns = (spans.map(\.end_ns).max() ?? 0) - (spans.map(\.start_ns).min() ?? 0)
        let operations = Double(threads * operationsOfThread)
        return OperationSample(nsPerOp: Double(took_ns) / operations, cpuPerOp_ns: Double(cpu_ns) / operations)
    }
}
