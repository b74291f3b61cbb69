// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if compiler(>=6.3) && !HRTIMER_NO_CUSTOM_EXECUTORS
import HRTimer

/// The default executor (`Executors` makes it one): libdispatch's pool, as in the standard library, with timers of this library for its
/// sleeps.
final class SleepingPool: Sendable {
    private let pool: any TaskExecutor
    let sleeps: SleepEngines

    init(on pool: any TaskExecutor, _ precision: TimerPrecision, _ spinBudget: Double?) {
        self.pool = pool
        sleeps = SleepEngines(precision, spinBudget)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        pool.enqueue(job)
    }

    /// Called by a task that begins to sleep, on its thread. The job makes that task ready, and does nothing else.
    func enqueue<C: Clock>(
        _ job: consuming ExecutorJob,
        at instant: C.Instant,
        tolerance: C.Duration?,
        clock: C
    ) {
        let deadline = SleepDeadline(instant, clock)
        if let jobs = JobQueue.current {
            HostedSleep(UnownedJob(job), deadline, Self.nanoseconds(tolerance), jobs).begin()
        } else if deadline.remaining_ns == nil {
            // Runs after the jobs that are ready, as with libdispatch, and wakes no thread of ours.
            pool.enqueue(UnownedJob(job))
        } else {
            // Only where tolerances count, since the cast takes a microsecond if it is not cached.
            let tolerance_ns = sleeps.coalesces ? Self.nanoseconds(tolerance) : 0
            sleeps.add(UnownedJob(job), deadline, tolerance_ns: tolerance_ns)
        }
    }

    private static func nanoseconds<D>(_ tolerance: D?) -> Int64 {
        max(0, (tolerance as? Duration)?.nanosecondsRoundedUp ?? 0)
    }

    func enqueue<C: Clock>(
        _ job: consuming ExecutorJob,
        after delay: C.Duration,
        tolerance: C.Duration?,
        clock: C
    ) {
        enqueue(job, at: clock.now.advanced(by: delay), tolerance: tolerance, clock: clock)
    }
}

extension UnownedJob {
    /// Runs the job as libdispatch's pool does. Safe: who has taken it from the pool runs it once.
    func runAsInPool() {
        unsafe runSynchronously(on: .generic)
    }
}
#endif
#endif
