import CEnqueueHook
import Dispatch
import HRTimer

/// A part of a task, or of what an actor has to do, that is ready to run.
struct ReadyJob {
    let job: UnownedJob
    /// Whether its task prefers the scheduler; otherwise the runtime's own executor was asked for.
    let isPreferring: Bool
    /// The runtime's number of its task.
    let id: UInt64
    /// Of its task, in the order in which they were seen first.
    let task: Int

    /// Told that it is the scheduler who runs it, the runtime gives that too what `Task.yield()` leaves for later.
    func run(by scheduler: DeterministicScheduler) {
        job.runSynchronously(on: scheduler.asUnownedTaskExecutor())
    }

    /// Where jobs go on whose virtual time is over.
    func runElsewhere(for scheduler: DeterministicScheduler) {
        guard isPreferring else { return ceh_enqueue(unsafeBitCast(job, to: UnsafeMutableRawPointer.self)) }
        DispatchQueue.global().async { [job] in job.runSynchronously(on: scheduler.asUnownedTaskExecutor()) }
    }
}

/// Calls `body` once the main queue has run all that it was given before.
func afterMainQueue(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.main.async(execute: body)
}
