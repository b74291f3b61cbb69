import CEnqueueHook
import Dispatch

extension ReadyJob {
    /// Where jobs go on whose virtual time is over.
    func runElsewhere() {
        guard let executor else { return ceh_enqueue(unsafeBitCast(job, to: UnsafeMutableRawPointer.self)) }
        DispatchQueue.global().async { [job] in job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
    }
}

/// Calls `body` once the main queue has run all that it was given before.
func afterMainQueue(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.main.async(execute: body)
}
