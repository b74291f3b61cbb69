// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import Dispatch
import Foundation
import HRTimer
import Synchronization

/// The time from another thread's post to the main queue until the main thread, which sleeps in its loop, runs the block.
enum MainQueueOperations {
    static let comparison = OperationComparison(
        operation: "main-queue-post",
        explanation: "post a block onto the main queue, the main thread asleep in its loop, until it runs; the median",
        timers: 0,
        baseID: "hrtimer.main-loop",
        rivals: [
            OperationRival(id: "hrtimer.main-loop") { _ in
                try measure { over in while !over() { TimerLoop.main.run(until: .now + .milliseconds(200)) } }
            },
            OperationRival(id: "foundation.main-run-loop") { _ in
                try measure { over in while !over() { RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.2)) } }
            },
        ]
    )

    /// The state that the posting thread and the main thread share.
    private final class Round: Sendable {
        let latencies_ns = Mutex([Double]())
        let isOver = Atomic(false)
    }

    private static func measure(_ run: (_ isOver: () -> Bool) -> Void) throws -> OperationSample {
        guard Thread.isMainThread else { throw BenchError("only the main thread can sleep in the main loop") }
        let round = Round()
        Thread.detachNewThread {
            for _ in 0..<300 {
                // Long enough for the loop to sleep.
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
