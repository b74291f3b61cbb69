#if os(Linux)
#if compiler(>=6.3)
import HRTimer

/// A sleep of a task that runs on a `TimerExecutor`: a timer of that thread, with no switch of threads after it. Only the
/// timer holds this object: if the thread has ended and the timer is dropped without a call, the sleep continues in the
/// pool.
///
/// A thread's timers are on `CLOCK_MONOTONIC`. So a sleep on `ContinuousClock` is never early, but late by the time that the
/// system was suspended meanwhile. In virtual time it takes the same length of virtual time.
final class LodgedSleep: Sendable {
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
        if isOver.withLock({ !$0 }) { Executors.sleeps.add(job, deadline, tolerance_ns: tolerance_ns) }
    }

    /// Begins the sleep. Called on the sleeping task's thread. A sleep with a past deadline ends only after the jobs that
    /// wait there, so that a task that sleeps for no time in a loop lets others run.
    func begin() {
        if remaining_ns != nil { arm() } else { jobs.host.runSoon { [self] in end() } }
    }

    private func arm() {
        guard let wait_ns = remaining_ns else { return end() }
        let time = jobs.host.time
        var deadline_ns = time.now_ns.addingSaturating(wait_ns)
        let isOnItsTime = time.isSame(as: .kernel)
        if case .monotonic(let exact_ns) = deadline, isOnItsTime { deadline_ns = exact_ns }
        _ = jobs.host.arm(deadline_ns, tolerance_ns: tolerance_ns) { [self] in
            // A clock other than the host's may not have reached the deadline yet: `arm` checks it. In virtual time the
            // sleep has taken its virtual length.
            isOnItsTime ? arm() : end()
        }
    }

    private var remaining_ns: Int64? {
        let wait_ns: Int64
        switch deadline {
        case .monotonic(let deadline_ns): wait_ns = deadline_ns.subtractingSaturating(MonotonicInstant.now.nanoseconds)
        case .bootTime(let deadline_ns): wait_ns = deadline_ns.subtractingSaturating(BootTimeInstant.now.nanoseconds)
        case .other(let remaining): wait_ns = remaining()?.nanosecondsRoundedUp ?? 0
        }
        return wait_ns > 0 ? wait_ns : nil
    }

    private func end() {
        isOver.withLock { $0 = true }
        jobs.resuming { job.runAsInPool() }
    }
}
#endif
#endif
