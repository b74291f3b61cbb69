#if os(Linux)
import CEnqueueHook
import Dispatch
import HRTimer

/// A part of a task, or of what an actor has to do, that is ready to run.
struct ReadyJob {
    let job: UnownedJob
    /// Whether its task prefers the scheduler; otherwise the hook has caught it.
    let isPreferring: Bool
    /// The runtime's number of its task.
    let id: UInt64
    /// Of its task, in the order in which they were seen first.
    let task: Int

    /// With the scheduler as the executor of the thread: `Task.yield()` of Swift 6.3 asks for that one, and not for the hook.
    /// The runtime forgets it when the task visits an actor.
    func run(by scheduler: DeterministicScheduler) {
        job.runSynchronously(on: scheduler.asUnownedTaskExecutor())
    }

    /// Jobs whose virtual time is over go on here.
    func runElsewhere(for scheduler: DeterministicScheduler) {
        guard isPreferring else { return ceh_enqueue(unsafeBitCast(job, to: UnsafeMutableRawPointer.self)) }
        DispatchQueue.global().async { [job] in job.runSynchronously(on: scheduler.asUnownedTaskExecutor()) }
    }
}

/// Calls `body` once the main queue has run all that it was given before.
func afterMainQueue(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.main.async(execute: body)
}
#endif
