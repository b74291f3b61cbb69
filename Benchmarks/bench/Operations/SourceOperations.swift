import CBench
import Dispatch
import HRTimer

/// The costs of a source compared with Dispatch's, where queues or several threads take part.
enum SourceOperations {
    static func comparisons(ownTimers: Int?) -> [OperationComparison] {
        [workNow, sourceNow, churnOnThreads(ownTimers ?? 1000), moveOnThreads(ownTimers ?? 1000)]
    }
}

// Work that is due at once, on a serial queue.
extension SourceOperations {
    private static var workNow: OperationComparison {
        OperationComparison(
            operation: "work-now-on-queue",
            explanation: "give a serial queue a closure that is due now, one after another, until all have run",
            baseID: "hrtimer.engine",
            isExtra: true,
            rivals: [
                PublicOperations.onEngine("hrtimer.engine") { engine, _ in
                    post { queue, count in engine.schedule(at: .now, on: queue) { count.addOne() } }
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
        OperationComparison(
            operation: "source-now-on-queue",
            explanation: "a source on a serial queue that its handler schedules for now, again and again",
            baseID: "hrtimer.source",
            isExtra: true,
            rivals: [
                PublicOperations.onEngine("hrtimer.source") { engine, _ in
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
    private static let threads = OperatingThreads(count: 4, operationsOfThread: 25_000)

    /// What one thread does with its timers.
    private typealias OfThread<Place> = @Sendable (Place, inout Deadlines) -> OperatingThreads.Span

    private static func onThreads(
        _ operation: String,
        _ explanation: String,
        _ pending: Int,
        ours: @escaping OfThread<TimerEngine>,
        dispatchs: @escaping OfThread<DispatchQueue>
    ) -> OperationComparison {
        OperationComparison(
            operation: operation,
            explanation: explanation,
            timers: pending,
            baseID: "hrtimer.source",
            isExtra: true,
            rivals: [
                OperationRival(id: "hrtimer.source") { seed in
                    let group = try TimerEngineGroup(count: threads.count, .init(name: "bench-ops"))
                    defer { group.shutdown() }
                    return try threads.measure(seed) { thread, deadlines in
                        ours(group.engine(for: thread), &deadlines)
                    }
                },
                OperationRival(id: "hrtimer.source.one-engine") { seed in
                    try PublicOperations.withEngine { engine in
                        try threads.measure(seed) { _, deadlines in ours(engine, &deadlines) }
                    }
                },
                OperationRival(id: "dispatch.source") { seed in
                    try threads.measure(seed) { _, deadlines in
                        dispatchs(DispatchQueue(label: "bench.ops"), &deadlines)
                    }
                },
            ]
        )
    }

    private static func churnOnThreads(_ pending: Int) -> OperationComparison {
        let own = 0..<threads.share(of: pending)
        return onThreads(
            "create-arm-cancel-destroy-threads",
            "create-arm-cancel-destroy by \(threads.count) threads at once: sources of a group of engines, one engine each, "
                + "beside one shared engine; Dispatch with a queue each; wall time over all operations",
            pending,
            ours: { engine, deadlines in
                let others = own.map { _ in PublicOperations.source(deadlines.any(), on: engine) }
                defer { for source in others { source.cancel() } }
                return threads.timeAll { _ in PublicOperations.source(deadlines.any(), on: engine).cancel() }
            },
            dispatchs: { queue, deadlines in
                let others = own.map { _ in PublicOperations.dispatchSource(deadlines.any(), on: queue) }
                defer { for source in others { source.cancel() } }
                return threads.timeAll(drain: { queue.sync {} }) { _ in
                    PublicOperations.dispatchSource(deadlines.any(), on: queue).cancel()
                }
            }
        )
    }

    private static func moveOnThreads(_ pending: Int) -> OperationComparison {
        let own = 0..<threads.share(of: pending)
        return onThreads(
            "move-threads",
            "\(threads.count) threads take the deadlines of their sources back and arm them anew, earlier or later: a group "
                + "of engines beside one shared engine and Dispatch; wall time over all operations",
            pending,
            ours: { engine, deadlines in
                let sources = own.map { _ in PublicOperations.source(deadlines.any(), on: engine) }
                defer { for source in sources { source.cancel() } }
                let owned = Owned(sources)
                return threads.timeAll { _ in
                    let deadline = MonotonicInstant(nanoseconds: deadlines.any())
                    owned.with(deadlines.timer(below: own.count)) {
                        $0.schedule(deadline: .distantFuture)
                        $0.schedule(deadline: deadline)
                    }
                }
            },
            dispatchs: { queue, deadlines in
                let sources = own.map { _ in PublicOperations.dispatchSource(deadlines.any(), on: queue) }
                defer { for source in sources { source.cancel() } }
                let owned = Owned(sources.compactMap { $0 as? DispatchSource })
                return threads.timeAll(drain: { queue.sync {} }) { _ in
                    let deadline = DispatchTime(instant_ns: deadlines.any())
                    owned.with(deadlines.timer(below: own.count)) {
                        $0.schedule(deadline: .distantFuture)
                        $0.schedule(deadline: deadline)
                    }
                }
            }
        )
    }
}
