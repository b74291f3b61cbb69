// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// Runs tasks on the thread that drains it, in the order in which they became ready: no pool of threads is in the counts.
final class DrainedExecutor: TaskExecutor {
    private let ready = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        ready.withLock { $0.append(job) }
    }

    /// Runs jobs until none is ready.
    func drain() {
        while true {
            let jobs = ready.withLock { ready in
                let jobs = ready
                ready.removeAll(keepingCapacity: true)
                return jobs
            }
            if jobs.isEmpty { return }
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }
}
