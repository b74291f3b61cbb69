public import HRTimer

/// Makes every `Task.sleep` of the process this library's, and puts the main actor on `TimerLoop.main`.
///
///     @main struct Program {
///         static func main() {
///             TimerExecutors.install()
///             Task { @MainActor in … }
///             TimerLoop.main.run()
///         }
///     }
///
/// **Experimental**, because what it stands on is: the standard library's interface for custom executors (`MainExecutor`,
/// `SchedulingExecutor`, `_createExecutors`), which Swift 6.3 has as system programming interface, without a promise. The
/// next compiler may have other names for it, or none; then this module does not build, and nothing else depends on it. Take
/// it where you can take it out again: it is one line.
public enum TimerExecutors {
    #if compiler(>=6.3)
    /// To be called once, on the main thread, before the first task of the process: in a `main` that is not `async`. Later
    /// calls change nothing.
    ///
    /// From then on sleeps on `ContinuousClock` (in boot time, which goes on through suspend) and on `SuspendingClock` are
    /// timers of this library, wherever they are called, in other packages too: never early, and in the order of their
    /// deadlines. Tasks run on libdispatch's threads as before; one that has slept goes on on the thread that waited for it,
    /// without another switch of threads, as long as another one waits for the next sleep: as many at once as there are
    /// processors, but two at least, and all others in the pool. The main actor runs on the main thread, whenever
    /// `TimerLoop.main` runs in one of its common modes, and that is kept alive (`isKeptAlive`) until `stop()`; `Task.sleep` of
    /// a task on a `TimerExecutor` is a timer of that thread.
    ///
    /// * `.normal`: late by what the kernel's wake latency exceeds the least that it took lately.
    /// * `.precise`: a thread is awake a learned spin window before the deadline, and spins the rest, within `spinBudget`, a
    ///   fraction of one core; within as much again it brings the runtime's code into the cache. One thread at a time: sleeps
    ///   that end while it spins are late by the wake latency.
    /// * `.coalesced`: sleeps whose tolerances overlap share a wake-up.
    ///
    /// A cancelled sleep ends at once. What the standard library keeps of it, some 300 bytes, stays until its deadline, as
    /// it does without this module: its interface has no way yet to withdraw a job.
    ///
    /// Where another loop serves the main queue, as Foundation's does under XCTest and in `RunLoop.main.run()`, or
    /// `dispatchMain()`, that hosts `TimerLoop.main` by itself. A program that runs first the one loop and then the other says
    /// `try TimerLoop.main.serve(on: .main)` in between.
    ///
    /// Tests, and programs with an `async` main, have no place that comes before the first task: they import
    /// `HRTimerExecutorsAtLaunch` instead.
    ///
    /// Ends the program if it is called inside of a task, or off the main thread: too late, or in the wrong place.
    @available(*, noasync)
    public static func install(
        precision: TimerPrecision = .normal,
        spinBudget: Double = 0.0125
    ) {
        Executors.install(precision, spinBudget)
    }

    /// Sleeps whose deadline has not come, those that were cancelled among them: what the standard library keeps of them is
    /// held until then.
    public static var pendingSleeps: Int { Executors.pendingSleeps }

    /// `install(precision:spinBudget:)`, and then runs `body` on the main actor, and `TimerLoop.main` for as long as that
    /// takes: for programs that had an `async` main, with the same priority, `.medium`. Throws what `body` throws.
    @available(*, noasync)
    public static func run(
        precision: TimerPrecision = .normal,
        spinBudget: Double = 0.0125,
        _ body: @escaping @MainActor @Sendable () async throws -> Void
    ) throws {
        install(precision: precision, spinBudget: spinBudget)
        let outcome = Locked<Result<Void, any Error>?>(nil)
        // As an `async` main has it. A task that the main thread makes would have `.high` otherwise, and whatever it waits for
        // would be raised to that.
        Task(priority: .medium) { @MainActor in
            let result: Result<Void, any Error>
            do {
                try await body()
                result = .success(())
            } catch {
                result = .failure(error)
            }
            outcome.withLock { $0 = result }
            TimerLoop.main.stop()
        }
        // A `stop()` of the body's own ends a run, not the program.
        while outcome.withLock({ $0 == nil }) { TimerLoop.main.run() }
        try outcome.withLock { $0 }?.get()
    }
    #else
    /// Needs the compiler of Swift 6.3.
    @available(*, unavailable, message: "HRTimerExecutors needs Swift 6.3 or newer, whose executors can be replaced")
    public static func install(precision: TimerPrecision = .normal, spinBudget: Double = 0.0125) {}
    #endif
}
