import CBench
import Glibc
import HRTimer

/// Several threads that constantly cancel, arm and move timers of one queue.
struct ContendedOperations: Sendable {
    static let defaultThreads = 4
    private let threads: Int
    private let operationsOfThread = 50_000

    static func comparisons(timers: Int, threads: Int = defaultThreads) -> [OperationComparison] {
        ContendedOperations(threads: threads).comparisons(timers: timers)
    }

    private func comparisons(timers: Int) -> [OperationComparison] {
        [
            comparison(
                "arm-cancel-contended",
                "cancel and arm one-shot timers with closures",
                timers,
                baseID: "hrtimer.engine",
                [
                    OperationRival("hrtimer.engine") { try replaceOnEngine(timers, seed: $0) },
                    OperationRival("heap.binary-locked") { seed in
                        try onHeap(timers, seed: seed) { heap, timer, deadline_ns in heap.replace(timer, deadline_ns) }
                    },
                    // Two calls per operation, like the engine.
                    OperationRival("heap.binary-locked-twice") { seed in
                        try onHeap(timers, seed: seed) { heap, timer, deadline_ns in
                            heap.cancel(timer)
                            heap.add(timer, deadline_ns)
                        }
                    },
                ]
            ),
            moving("re-arm-contended", "move long-lived timers, each time later than all others", timers) {
                $0.later($1)
            },
            moving("move-contended", "move long-lived timers to any instant, earlier or later", timers) {
                deadlines,
                _ in
                deadlines.any()
            },
        ]
    }

    private func moving(
        _ operation: String,
        _ explanation: String,
        _ timers: Int,
        _ next: @escaping @Sendable (inout Deadlines, _ index: Int) -> Int64
    ) -> OperationComparison {
        comparison(
            operation,
            explanation,
            timers,
            baseID: "hrtimer.source",
            [
                OperationRival("hrtimer.source") { try moveSources(timers, seed: $0, next) },
                OperationRival("hrtimer.engine") { try moveOnEngine(timers, seed: $0, next) },
                OperationRival("heap.binary-locked") { seed in
                    try onHeap(timers, seed: seed, next) { heap, timer, deadline_ns in heap.move(timer, deadline_ns) }
                },
            ]
        )
    }

    private func comparison(
        _ operation: String,
        _ explanation: String,
        _ timers: Int,
        baseID: String,
        _ rivals: [OperationRival]
    ) -> OperationComparison {
        OperationComparison(
            operation: threads == Self.defaultThreads ? operation : "\(operation)-\(threads)",
            explanation: "\(threads) threads \(explanation); wall time over all operations",
            timers: timers,
            baseID: baseID,
            isPinned: false,
            isExtra: false,
            rivals: rivals
        )
    }

    /// Returns each thread's number of timers. Threads have their own timers, so that they share only the queue.
    private func share(_ timers: Int) -> Int { max(1, timers / threads) }

    private func replaceOnEngine(_ timers: Int, seed: UInt64) throws -> OperationSample {
        try onEngine { engine in
            let own = share(timers)
            return try measure(seed: seed) { (_, deadlines: inout Deadlines) in
                var tokens: [TimerToken] = []
                for _ in 0..<own { tokens.append(PublicOperations.scheduled(deadlines.any(), on: engine)) }
                return longestOf(operationsOfThread) { _ in
                    let index = deadlines.timer(below: own)
                    engine.cancel(tokens[index])
                    tokens[index] = PublicOperations.scheduled(deadlines.any(), on: engine)
                }
            }
        }
    }

    private func moveOnEngine(
        _ timers: Int,
        seed: UInt64,
        _ next: @escaping @Sendable (inout Deadlines, _ index: Int) -> Int64
    ) throws -> OperationSample {
        try onEngine { engine in
            let own = share(timers)
            return try measure(seed: seed) { (_, deadlines: inout Deadlines) in
                var tokens: [TimerToken] = []
                for _ in 0..<own { tokens.append(PublicOperations.scheduled(deadlines.any(), on: engine)) }
                return longestOf(operationsOfThread) { index in
                    let deadline = MonotonicInstant(nanoseconds: next(&deadlines, index))
                    engine.reschedule(tokens[deadlines.timer(below: own)], at: deadline)
                }
            }
        }
    }

    private func moveSources(
        _ timers: Int,
        seed: UInt64,
        _ next: @escaping @Sendable (inout Deadlines, _ index: Int) -> Int64
    ) throws -> OperationSample {
        try onEngine { engine in
            let own = share(timers)
            return try measure(seed: seed) { (_, deadlines: inout Deadlines) in
                let sources = (0..<own).map { _ in
                    let source = TimerSource(engine: engine)
                    source.setEventHandler {}
                    source.schedule(deadline: MonotonicInstant(nanoseconds: deadlines.any()))
                    source.activate()
                    return source
                }
                let owned = Owned(sources)
                return longestOf(operationsOfThread) { index in
                    let deadline = MonotonicInstant(nanoseconds: next(&deadlines, index))
                    owned.with(deadlines.timer(below: own)) { $0.schedule(deadline: deadline) }
                }
            }
        }
    }

    /// Counts also how often the engine's thread was woken. The few wakes of the initial arming are included.
    private func onEngine(_ body: (TimerEngine) throws -> OperationSample) throws -> OperationSample {
        try PublicOperations.withEngine { engine in
            var sample = try body(engine)
            sample.wakesPerOp = Double(engine.statistics.wakesSent) / Double(threads * operationsOfThread)
            return sample
        }
    }

    private func onHeap(
        _ timers: Int,
        seed: UInt64,
        _ next: @escaping @Sendable (inout Deadlines, _ index: Int) -> Int64 = { deadlines, _ in deadlines.any() },
        _ operation: @escaping @Sendable (LockedHeap, _ timer: Int, _ deadline_ns: Int64) -> Void
    ) throws -> OperationSample {
        let own = share(timers)
        let heap = try LockedHeap(timers: own * threads)
        return try measure(seed: seed) { (thread, deadlines: inout Deadlines) in
            let first = thread * own
            for timer in first..<first + own { heap.add(timer, deadlines.any()) }
            return longestOf(operationsOfThread) { index in
                let deadline_ns = next(&deadlines, index)
                operation(heap, first + deadlines.timer(below: own), deadline_ns)
            }
        }
    }

    /// The measurements of one thread.
    private struct Span: Sendable {
        let start_ns: Int64
        let end_ns: Int64
        let longest_ns: Int64
        let allocations: UInt64
    }

    /// Times each operation separately, because the longest pause matters; a clock reading is short compared with a
    /// contended lock.
    private func longestOf(_ operations: Int, _ operation: (_ index: Int) -> Void) -> Span {
        let allocations = cbench_thread_allocations()
        let start_ns = cbench_now_ns()
        var before_ns = start_ns
        var longest_ns: Int64 = 0
        for index in 0..<operations {
            operation(index)
            let after_ns = cbench_now_ns()
            longest_ns = max(longest_ns, after_ns - before_ns)
            before_ns = after_ns
        }
        return Span(
            start_ns: start_ns,
            end_ns: before_ns,
            longest_ns: longest_ns,
            allocations: cbench_thread_allocations() - allocations
        )
    }

    private func measure(
        seed: UInt64,
        _ body: @escaping @Sendable (_ thread: Int, inout Deadlines) -> Span
    ) throws -> OperationSample {
        let before = cbench_usage_now()
        let spans = try onFreshThreads(threads) { thread in
            var deadlines = Deadlines(seed: seed &+ UInt64(thread))
            return body(thread, &deadlines)
        }
        let cpu_ns = cbench_usage_now().process_cpu_ns - before.process_cpu_ns
        let start_ns = spans.map(\.start_ns).min() ?? 0
        let end_ns = spans.map(\.end_ns).max() ?? 0
        let operations = Double(threads * operationsOfThread)
        return OperationSample(
            nsPerOp: Double(end_ns - start_ns) / operations,
            cpuPerOp_ns: Double(cpu_ns) / operations,
            longestCall_ns: spans.map(\.longest_ns).max(),
            allocationsPerOp: blocksPerOp(spans.reduce(0) { $0 + $1.allocations }, threads * operationsOfThread)
        )
    }
}

/// A binary heap behind one mutex: kernel_locked_heap.c. Each timer has its own object, stored and released with it, like
/// the engine's timers: a closure over one object is that object and a pointer. Replacing a timer takes the lock once;
/// cancelling it and adding another takes it twice, like the two calls to the engine.
///
/// Unchecked, because every access to the heap behind the pointer holds the heap's own mutex, except in `deinit`.
private final class LockedHeap: @unchecked Sendable {
    private let handle: OpaquePointer
    private let timers: Int

    /// Every timer must be added.
    init(timers: Int) throws {
        guard let handle = cbench_locked_heap_create(timers) else {
            throw BenchError(String(cString: strerror(ENOMEM)))
        }
        self.handle = handle
        self.timers = timers
    }

    deinit {
        for timer in 0..<timers {
            Unmanaged<PublicOperations.Payload>.fromOpaque(cbench_locked_heap_handler(handle, timer)).release()
        }
        cbench_locked_heap_destroy(handle)
    }

    func add(_ timer: Int, _ deadline_ns: Int64) {
        cbench_locked_heap_add(
            handle,
            timer,
            deadline_ns,
            Unmanaged.passRetained(PublicOperations.Payload()).toOpaque()
        )
    }

    func cancel(_ timer: Int) {
        // Released without the lock.
        Unmanaged<PublicOperations.Payload>.fromOpaque(cbench_locked_heap_cancel(handle, timer)).release()
    }

    func move(_ timer: Int, _ deadline_ns: Int64) {
        cbench_locked_heap_move(handle, timer, deadline_ns)
    }

    func replace(_ timer: Int, _ deadline_ns: Int64) {
        let new = Unmanaged.passRetained(PublicOperations.Payload()).toOpaque()
        // Released without the lock.
        Unmanaged<PublicOperations.Payload>.fromOpaque(cbench_locked_heap_replace(handle, timer, deadline_ns, new))
            .release()
    }
}
