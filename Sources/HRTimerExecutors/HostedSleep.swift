// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if compiler(>=6.3) && !HRTIMER_NO_CUSTOM_EXECUTORS
import HRTimer

/// A sleep of a task that runs on a `TimerExecutor` or on the main actor: a timer of that engine or loop, with no switch of
/// threads after it. Only the timer holds this object: if the engine or loop ends and drops the timer without a call, the sleep
/// goes on as one of `SleepEngines`.
///
/// These timers are on `CLOCK_MONOTONIC`. So a sleep on `ContinuousClock` is never early, but late by the time that the
/// system was suspended meanwhile. In virtual time it takes the same length of virtual time.
final class HostedSleep: Sendable {
    private let job: UnownedJob
    private let deadline: SleepDeadline
    private let tolerance_ns: Int64
    private let jobs: JobQueue
    private let isOver = Locked(false)

    init(_ job: UnownedJob, _ deadline: SleepDeadline, _ tolerance_ns: Int64, _ jobs: JobQueue) {
        self.job = job
        self.deadline = deadline
        self.tolerance_ns = tolerance_ns
        self.jobs = jobs
    }

    deinit {
        if isOver.withLock({ !$0 }) { Executors.pool.sleeps.add(job, deadline, tolerance_ns: tolerance_ns) }
    }

    /// Begins the sleep. Called on the sleeping task's thread. A sleep with a past deadline ends only after the jobs that
    /// wait there, so that a task that sleeps for no time in a loop lets others run.
    func begin() {
        if let wait_ns = deadline.remaining_ns { arm(wait_ns) } else { jobs.host.submit { [self] in end() } }
    }

    private func arm(_ wait_ns: Int64) {
        let time = jobs.host.time
        var deadline_ns = time.now_ns.addingSaturating(wait_ns)
        let isOnItsTime = time.isSame(as: .kernel)
        if case .monotonic(let exact_ns) = deadline, isOnItsTime { deadline_ns = exact_ns }
        _ = jobs.host.arm(deadline_ns, tolerance_ns: tolerance_ns) { [self] in
            // A clock other than the host's may not have reached the deadline yet. In virtual time the sleep has taken its
            // virtual length.
            if isOnItsTime, let left_ns = deadline.remaining_ns { arm(left_ns) } else { end() }
        }
    }

    private func end() {
        isOver.withLock { $0 = true }
        jobs.resuming { job.runAsInPool() }
    }
}
#endif
#endif
