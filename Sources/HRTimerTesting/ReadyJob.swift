// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CEnqueueHook
import Dispatch
import HRTimer

/// A part of a task, or of an actor's work, that is ready to run.
struct ReadyJob {
    let job: UnownedJob
    /// Whether the job's task prefers the scheduler; otherwise the hook has caught the job.
    let isPreferring: Bool
    /// The runtime's number of the job's task.
    let id: UInt64
    /// The task's number in the order in which tasks were first seen.
    let task: Int

    /// Runs the job with the scheduler as the executor of the thread: `Task.yield()` of Swift 6.3 asks for that executor, and
    /// does not call the hook. The runtime forgets the executor when the task visits an actor. Safe: who has taken the job from the
    /// scheduler runs it once, here or below.
    func run(by scheduler: DeterministicScheduler) {
        unsafe job.runSynchronously(on: scheduler.asUnownedTaskExecutor())
    }

    /// Runs the job without the scheduler, whose virtual time is over.
    func runElsewhere(for scheduler: DeterministicScheduler) {
        guard isPreferring else { return unsafe ceh_enqueue(unsafeBitCast(job, to: UnsafeMutableRawPointer.self)) }
        DispatchQueue.global().async { [job] in unsafe job.runSynchronously(on: scheduler.asUnownedTaskExecutor()) }
    }
}

/// Calls `body` once the main queue has run all that it was given before.
func afterMainQueue(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.main.async(execute: body)
}
#endif
