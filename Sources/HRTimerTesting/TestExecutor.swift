import HRTimer

/// Runs the tasks of one virtual time, one after the other, on the thread of that.
final class TestExecutor: TaskExecutor {
    let conductor: Conductor

    init(_ conductor: Conductor) {
        self.conductor = conductor
    }

    func enqueue(_ job: consuming ExecutorJob) {
        conductor.enqueue(UnownedJob(job), self)
    }
}

/// A part of a task, or of what an actor has to do, that is ready to run.
struct ReadyJob {
    let job: UnownedJob
    /// Of a task that prefers it; nil if the runtime's own executor was asked for.
    let executor: TestExecutor?
    /// Of its task, in the order in which they were seen first.
    let task: Int

    func run() {
        if let executor {
            job.runSynchronously(on: executor.asUnownedTaskExecutor())
        } else {
            job.runSynchronously(on: .generic)
        }
    }
}

extension UnownedSerialExecutor {
    /// No executor at all, as code runs that belongs to no actor: two zeros, `SerialExecutorRef::generic()` of the ABI.
    static var generic: UnownedSerialExecutor {
        precondition(MemoryLayout<UnownedSerialExecutor>.size == 2 * MemoryLayout<UInt>.size)
        return unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)
    }
}
