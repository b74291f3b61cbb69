// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimer

/// Executors that make every `Task.sleep` of the process a timer of this library, and run the main actor on
/// `TimerLoop.main`.
///
///     @main struct Program {
///         static func main() {
///             TimerExecutors.install()
///             Task { @MainActor in … }
///             TimerLoop.main.run()
///         }
///     }
///
/// **Experimental**, because it uses the standard library's interface for custom executors (`MainExecutor`,
/// `SchedulingExecutor`, `_createExecutors`), which Swift 6.3 has as system programming interface, without a promise. The
/// next compiler may rename or remove that interface. Then this module builds with `-Xswiftc -DHRTIMER_NO_CUSTOM_EXECUTORS`:
/// programs keep the standard library's executors, which a `UsageWarning` tells. Nothing else depends on this module.
public enum TimerExecutors {
    #if compiler(>=6.3)
    /// Installs the executors.
    ///
    /// Must be called once, on the main thread, before the first task of the process: in a `main` that is not `async`. Later
    /// calls change nothing.
    ///
    /// From then on sleeps on `ContinuousClock` (boot time, which goes on through suspend) and on `SuspendingClock` are
    /// timers of this library, wherever they are called, also in other packages. They are never early, and end in the order
    /// of their deadlines. Each of the two clocks has an engine, started at its first sleep. Tasks run on libdispatch's
    /// threads as before: the engine's thread makes a task ready at its deadline, and the task resumes in the pool, or on the
    /// executor that it has, one switch of threads later. The main actor runs on the main thread, whenever `TimerLoop.main`
    /// runs in one of its common modes; that loop is kept alive (`isKeptAlive`) until `stop()`. `Task.sleep` of a task on a
    /// `TimerExecutor`, or on the main actor, is a timer of that thread.
    ///
    /// * `.normal`: a sleep is late by the switch of threads, and by the part of the kernel's wake latency that exceeds its
    ///   recent minimum.
    /// * `.precise`: the engine's thread wakes a learned spin window before the deadline and spins the rest, within
    ///   `spinBudget`, a share of one core: 0 ... 1, clamped. Nil, the default, is the 0.0125 that engines and loops of the
    ///   process have in common. A sleep is late by the switch of threads.
    /// * `.coalesced`: sleeps whose tolerances overlap share a wake-up.
    ///
    /// While all threads of the pool are blocked, tasks in the pool wait, including those that have slept. As without this
    /// module, the following comes in time nevertheless: handlers of engines and sources, cancellation handlers at a
    /// deadline, and everything on a `TimerExecutor`.
    ///
    /// A cancelled sleep ends at once. Its timer, and some 300 bytes that the standard library keeps for it, stay until its
    /// deadline, as without this module: the standard library's interface cannot withdraw a job yet.
    ///
    /// If another loop serves the main queue, as Foundation's does under XCTest and in `RunLoop.main.run()`, or if
    /// `dispatchMain()` does, that loop hosts `TimerLoop.main` by itself. A program that first runs one loop and then the
    /// other calls `try TimerLoop.main.serve(on: .main)` in between.
    ///
    /// Tests, and programs with an `async` main, have no place for a call before the first task: they link
    /// `HRTimerExecutorsAtLaunch` instead.
    ///
    /// Ends the program if it is called inside a task or off the main thread.
    @available(
        *,
        noasync,
        message: "a program with an async main depends on HRTimerExecutorsAtLaunch instead, and calls nothing"
    )
    public static func install(
        precision: TimerPrecision = .normal,
        spinBudget: Double? = nil
    ) {
        Executors.install(precision, spinBudget)
    }

    /// The number of sleeps whose deadline has not come, including cancelled ones: the standard library keeps its part of
    /// them until then.
    public static var pendingSleeps: Int { Executors.pendingSleeps }

    /// Calls `install(precision:spinBudget:)`, then runs `body` on the main actor, and `TimerLoop.main` for as long as that
    /// takes.
    ///
    /// For programs that had an `async` main: the priority is the same, `.medium`. Throws the error that `body` throws.
    @available(
        *,
        noasync,
        message: "a program with an async main depends on HRTimerExecutorsAtLaunch instead, and calls nothing"
    )
    public static func run(
        precision: TimerPrecision = .normal,
        spinBudget: Double? = nil,
        _ body: @escaping @MainActor @Sendable () async throws -> Void
    ) throws {
        install(precision: precision, spinBudget: spinBudget)
        let outcome = Locked<Result<Void, any Error>?>(nil)
        // The priority of an `async` main. A task that the main thread creates would have `.high` otherwise, and raise
        // everything that it waits for to that.
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
        // A `stop()` in the body ends one run of the loop, not the program.
        while outcome.withLock({ $0 == nil }) { TimerLoop.main.run() }
        try outcome.withLock { $0 }?.get()
    }
    #else
    /// Needs the compiler of Swift 6.3.
    @available(*, unavailable, message: "HRTimerExecutors needs Swift 6.3 or newer, whose executors can be replaced")
    public static func install(precision: TimerPrecision = .normal, spinBudget: Double? = nil) {}
    #endif
}
#endif
