import CBench
import CHRTimer
import Dispatch
import Foundation
import HRTimer
import Synchronization

/// What another thread's post onto the main queue takes until the main thread, which slept in its loop, runs it.
enum MainQueueOperations {
    static let comparison = OperationComparison(
        operation: "main-queue-post",
        explanation: "post a block onto the main queue, the main thread asleep in its loop, until it runs; the median",
        timers: 0,
        baseID: "hrtimer.main-loop",
        isPinned: false,
        isExtra: false,
        rivals: [
            OperationRival("hrtimer.main-loop") { _ in
                try measure { over in while !over() { TimerLoop.main.run(until: .now + .milliseconds(200)) } }
            },
            OperationRival("foundation.main-run-loop") { _ in
                try measure { over in while !over() { RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.2)) } }
            },
        ]
    )

    /// What the thread that posts and the main thread have in common.
    private final class Round: Sendable {
        let latencies_ns = Mutex([Double]())
        let isOver = Atomic(false)
    }

    private static func measure(_ run: (_ isOver: () -> Bool) -> Void) throws -> OperationSample {
        guard Thread.isMainThread else { throw BenchError("only the main thread can sleep in the main loop") }
        let round = Round()
        Thread.detachNewThread {
            for _ in 0..<300 {
                // The loop sleeps by then.
                usleep(300)
                let done = DispatchSemaphore(value: 0)
                let posted_ns = cbench_now_ns()
                DispatchQueue.main.async {
                    let ran_ns = cbench_now_ns()
                    round.latencies_ns.withLock { $0.append(Double(ran_ns - posted_ns)) }
                    done.signal()
                }
                done.wait()
            }
            round.isOver.store(true, ordering: .releasing)
        }
        run { round.isOver.load(ordering: .acquiring) }
        return OperationSample(nsPerOp: median(round.latencies_ns.withLock { $0 }))
    }
}
