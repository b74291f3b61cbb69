public import HRTimerCore

/// Runs tasks and actors on the thread of an engine or of a loop.
///
///     Task(executorPreference: executor) { try await MonotonicClock().sleep(until: deadline) … }
///     actor Sampler {
///         private let executor: TimerExecutor
///         init(_ executor: TimerExecutor) { self.executor = executor }
///         nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
///     }
///
/// Jobs run one at a time, in the order in which they came. A task that sleeps there by `MonotonicClock` has its timer on the
/// same thread, and goes on right in the fire: no other thread takes part, and in `.precise` there is a microsecond or two
/// between deadline and task. What runs on that thread anyway may call `assumeIsolated` of actors that live here: handlers of
/// timers and sources, a loop's descriptors and blocks.
///
/// A job that blocks or computes for long makes timers of that thread late, as a slow handler does; jobs do not starve timers,
/// however many there are: between those that wait and those that came meanwhile all that is due fires.
///
/// **No job is lost.** When the engine was shut down, or the loop has ended, jobs go on in the same order, still one at a
/// time, but on threads of libdispatch; a sleep there throws `CancellationError`, as it does when it loses its engine.
/// Jobs of a loop that nobody runs wait, as its blocks do. On virtual time they run when the clock is moved, by any
/// amount.
public final class TimerExecutor: TaskExecutor {
    package let jobs: JobQueue

    private init(_ jobs: JobQueue) {
        self.jobs = jobs
    }

    /// On the thread of an engine, which goes on at least as long as the executor.
    public convenience init(engine: TimerEngine) {
        self.init(JobQueue(.engine(engine.core), keeper: engine))
    }

    /// On the thread of an engine of its own. Throws EAGAIN if there is no room for a thread.
    public convenience init(name: String = "hrtimer-tasks", precision: TimerPrecision = .normal) throws(TimerError) {
        self.init(engine: try TimerEngine(.init(name: name, precision: precision)))
    }

    /// Inside a loop, whenever that runs in one of its common modes: among its blocks, see
    /// `TimerLoop.perform(inModes:order:_:)`.
    public convenience init(loop: TimerLoop) {
        self.init(JobQueue(.loop(loop)))
    }

    /// On a loop's thread, which goes on at least as long as the executor unless it is ended.
    public convenience init(thread: LoopThread) {
        self.init(JobQueue(.loop(thread.loop), keeper: thread))
    }

    /// Has the job run after those that wait. Any thread; wakes the executor's own at most once for any number of jobs.
    public func enqueue(_ job: consuming ExecutorJob) {
        jobs.add(UnownedJob(job), self)
    }

    /// The same thread as an executor for actors, which hold it as long as they live: this one, or the `TimerExecutor`.
    public var serialExecutor: any SerialExecutor { jobs }

    /// For `unownedExecutor` of an actor that holds this executor.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { jobs.asUnownedSerialExecutor() }

    /// Whether the calling thread is the executor's own, or runs one of its jobs: whether `assumeIsolated` of its actors holds.
    public var isCurrent: Bool { jobs.isCurrent }
}
