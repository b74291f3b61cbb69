// SPDX-License-Identifier: Apache-2.0
import CBench
import HRTimer

/// Several threads that constantly cancel, arm and move timers of one queue.
struct ContendedOperations: Sendable {
    static let defaultThreads = 4

    private let timers: Int
    private let threads: OperatingThreads
    /// The timers of each thread.
    private let own: Int

    /// The deadline of a thread's next operation.
    private typealias Next = @Sendable (inout Deadlines, _ index: Int) -> Int64

    static func comparisons(timers: Int, threads: Int = defaultThreads) -> [OperationComparison] {
        let operations = ContendedOperations(timers: timers, threads: threads)
        return [
            operations.replacing,
            operations.moving("re-arm-contended", "move long-lived timers, each time later than all others") {
                $0.later($1)
            },
            operations.moving("move-contended", "move long-lived timers to any instant, earlier or later") {
                deadlines,
                _ in
                deadlines.any()
            },
        ]
    }

    private init(timers: Int, threads: Int) {
        self.timers = timers
        self.threads = OperatingThreads(count: threads, operationsOfThread: 50_000)
        own = self.threads.share(of: timers)
    }

    private func comparison(
        _ operation: String,
        _ explanation: String,
        base: String,
        _ rivals: [OperationRival]
    ) -> OperationComparison {
        OperationComparison(
            operation: threads.count == Self.defaultThreads ? operation : "\(operation)-\(threads.count)",
            explanation: "\(threads.count) threads \(explanation); wall time over all operations",
            timers: timers,
            baseID: base,
            rivals: rivals
        )
    }

    private var replacing: OperationComparison {
        comparison(
            "arm-cancel-contended",
            "cancel and arm one-shot timers with closures",
            base: "hrtimer.engine",
            [
                onEngine("hrtimer.engine") { engine, deadlines in
                    var tokens = (0..<own).map { _ in PublicOperations.engineTimer(deadlines.any(), on: engine) }
                    return threads.timeEach { _ in
                        let index = deadlines.timer(below: own)
                        engine.cancel(tokens[index])
                        tokens[index] = PublicOperations.engineTimer(deadlines.any(), on: engine)
                    }
                },
                onHeap("heap.binary-locked", { deadlines, _ in deadlines.any() }) { heap, timer, deadline_ns in
                    heap.replace(timer, deadline_ns)
                },
                // Two calls per operation, like the engine.
                onHeap("heap.binary-locked-twice", { deadlines, _ in deadlines.any() }) { heap, timer, deadline_ns in
                    heap.cancel(timer)
                    heap.add(timer, deadline_ns)
                },
            ]
        )
    }

    private func moving(_ operation: String, _ explanation: String, _ next: @escaping Next) -> OperationComparison {
        comparison(
            operation,
            explanation,
            base: "hrtimer.source",
            [
                onEngine("hrtimer.source") { engine, deadlines in
                    let sources = (0..<own).map { _ in
                        PublicOperations.source(deadlines.any(), on: engine) {}
                    }
                    let owned = Owned(sources)
                    return threads.timeEach { index in
                        let deadline = MonotonicInstant(nanoseconds: next(&deadlines, index))
                        owned.with(deadlines.timer(below: own)) { $0.schedule(deadline: deadline) }
                    }
                },
                onEngine("hrtimer.engine") { engine, deadlines in
                    let tokens = (0..<own).map { _ in PublicOperations.engineTimer(deadlines.any(), on: engine) }
                    return threads.timeEach { index in
                        let deadline = MonotonicInstant(nanoseconds: next(&deadlines, index))
                        engine.reschedule(tokens[deadlines.timer(below: own)], at: deadline)
                    }
                },
                onHeap("heap.binary-locked", next) { heap, timer, deadline_ns in heap.move(timer, deadline_ns) },
            ]
        )
    }

    /// Returns a rival whose threads share an engine. Counts also how often the engine's thread was woken. The few wakes of
    /// the initial arming are included.
    private func onEngine(
        _ id: String,
        _ operate: @escaping @Sendable (TimerEngine, inout Deadlines) -> OperatingThreads.Span
    ) -> OperationRival {
        OperationRival(id: id) { seed in
            try PublicOperations.withEngine { engine in
                var sample = try threads.measure(seed) { _, deadlines in operate(engine, &deadlines) }
                sample.wakesPerOp = Double(engine.statistics.wakesSent) / Double(threads.operations)
                return sample
            }
        }
    }

    /// Returns a rival whose threads share a heap.
    private func onHeap(
        _ id: String,
        _ next: @escaping Next,
        _ operation: @escaping @Sendable (LockedHeap, _ timer: Int, _ deadline_ns: Int64) -> Void
    ) -> OperationRival {
        OperationRival(id: id) { seed in
            let heap = try LockedHeap(timers: own * threads.count)
            return try threads.measure(seed) { thread, deadlines in
                let first = thread * own
                for timer in first..<first + own { heap.add(timer, deadlines.any()) }
                return threads.timeEach { index in
                    let deadline_ns = next(&deadlines, index)
                    operation(heap, first + deadlines.timer(below: own), deadline_ns)
                }
            }
        }
    }
}
