// SPDX-License-Identifier: Apache-2.0
#if os(Linux)

/// An executor that runs tasks and actors on the thread of an engine or of a loop.
///
///     Task(executorPreference: executor) { try await MonotonicClock().sleep(until: deadline) … }
///     actor Sampler {
///         private let executor: TimerExecutor
///         init(_ executor: TimerExecutor) { self.executor = executor }
///         nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
///     }
///
/// Jobs run one at a time, in the order in which they came. A task that sleeps there by `MonotonicClock` has its timer on
/// the same thread, and resumes within the fire: no other thread takes part, and in `.precise` a microsecond or two lie
/// between deadline and task. Other code on that thread may call `assumeIsolated` of actors that run here: handlers of
/// timers and sources, a loop's descriptors and blocks.
///
/// A job that blocks or computes for long makes timers of that thread late, as a slow handler does. Jobs do not starve
/// timers, however many there are: all due timers fire between the jobs that wait and the jobs that came meanwhile.
///
/// **No job is lost.** After the engine was shut down, or the loop has ended, jobs run in the same order, still one at a
/// time, but on threads of libdispatch. A sleep there throws `CancellationError`, like a sleep that loses its engine. Jobs
/// of a loop that no thread runs wait, as its blocks do. In virtual time jobs run when the clock is moved, by any amount.
public final class TimerExecutor: TaskExecutor {
    package let jobs: JobQueue

    package init(_ jobs: JobQueue) {
        self.jobs = jobs
    }

    /// Creates an executor on the thread of an engine, which runs at least as long as the executor exists.
    public convenience init(engine: TimerEngine) {
        self.init(JobQueue(engine.core, keeper: engine))
    }

    /// Creates an executor on the thread of an engine of its own.
    ///
    /// Throws EAGAIN if no thread can be created.
    public convenience init(name: String = "hrtimer-tasks", precision: TimerPrecision = .normal) throws(TimerError) {
        self.init(engine: try TimerEngine(.init(name: name, precision: precision)))
    }

    /// Runs the job after those that wait.
    ///
    /// Any thread. Wakes the executor's own thread at most once for any number of jobs.
    public func enqueue(_ job: consuming ExecutorJob) {
        jobs.add(UnownedJob(job), self)
    }

    /// An executor for actors on the same thread. An actor must hold this object, or the `TimerExecutor`, as long as it
    /// lives.
    package var serialExecutor: any SerialExecutor { jobs }

    /// Returns the executor for `unownedExecutor` of an actor that holds this object, which keeps it valid.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe jobs.asUnownedSerialExecutor() }

    /// Whether the calling thread is the executor's own, or runs one of its jobs. If so, `assumeIsolated` of its actors
    /// succeeds.
    package var isCurrent: Bool { jobs.isCurrent }
}
#endif
