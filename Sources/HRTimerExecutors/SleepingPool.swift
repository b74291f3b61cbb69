#if os(Linux)
#if compiler(>=6.3)
@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency
import HRTimer

/// The default executor: libdispatch's pool, as in the standard library, with timers of this library for its sleeps.
final class SleepingPool: TaskExecutor, SchedulingExecutor {
    private let pool = PlatformExecutorFactory.defaultExecutor
    let sleeps: Sleeps

    init(_ precision: TimerPrecision, _ spinBudget: Double?) {
        sleeps = Sleeps(precision, spinBudget)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // A task whose sleep has ended resumes on the thread that waited for it.
        if LeaderJob.take(job) { return }
        pool.enqueue(job)
    }

    func enqueue<C: Clock>(
        _ job: consuming ExecutorJob,
        at instant: C.Instant,
        tolerance: C.Duration?,
        clock: C
    ) {
        let deadline = SleepDeadline(instant, clock)
        // Called by the sleeping task, on its thread.
        if let jobs = JobQueue.current {
            LodgedSleep(UnownedJob(job), deadline, Self.nanoseconds(tolerance), jobs).begin()
        } else if deadline.isPast {
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

#endif
#endif
