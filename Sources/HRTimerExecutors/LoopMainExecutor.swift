// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if compiler(>=6.3) && !HRTIMER_NO_CUSTOM_EXECUTORS
import HRTimer

/// The main actor's executor (`Executors` makes it one): its jobs are blocks of `TimerLoop.main`.
final class LoopMainExecutor: Sendable {
    private let jobs: JobQueue

    init() {
        // Safe: the process keeps its executors for ever, and the queue runs each job once.
        let run: JobQueue.Run = { job in unsafe job.runSynchronously(on: Executors.main.asUnownedSerialExecutor()) }
        jobs = JobQueue(TimerLoop.main, running: run)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.add(UnownedJob(job), nil)
    }

    /// Runs the loop. An `async` main does this at its end, for ever.
    func run() throws {
        TimerLoop.main.run()
    }

    func stop() {
        TimerLoop.main.stop()
    }

    /// Whether the calling thread runs the main actor's code: the main thread does, in its loop's handlers and the main
    /// queue's blocks. After `dispatchMain()` other threads may run the main queue, and with it the loop.
    func isIsolatingCurrentContext() -> Bool? { MainQueue.isHeld }

    func checkIsolated() {
        precondition(
            MainQueue.isHeld,
            "the main actor is on the main thread, or on the main queue, and this is neither"
        )
    }
}
#endif
#endif
