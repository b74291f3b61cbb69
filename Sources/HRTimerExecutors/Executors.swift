// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if compiler(>=6.3)
#if !HRTIMER_NO_CUSTOM_EXECUTORS
// The interface is experimental: this file alone uses it, and all conformances to it are here.
@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency
import CHRTimer
import HRTimerLibc
import HRTimer

/// The process's executors, in place of the standard library's.
enum Executors: ExecutorFactory {
    static let main: LoopMainExecutor = LoopMainExecutor()
    /// `install` sets it before the first use.
    private static let installed = Locked<SleepingPool?>(nil)

    static var mainExecutor: any MainExecutor { main }
    static var defaultExecutor: any TaskExecutor { pool }

    static var pool: SleepingPool {
        // `install` has set it.
        installed.withLock { $0! }
    }

    static var pendingSleeps: Int { installed.withLock { $0 }?.sleeps.pendingSleeps ?? 0 }

    static func install(_ precision: TimerPrecision, _ spinBudget: Double?) {
        // Safe: only compared.
        unsafe precondition(
            withUnsafeCurrentTask { unsafe $0 == nil },
            "TimerExecutors.install() must come before the first task: call it in a main that is not async"
        )
        precondition(isMainThread, "TimerExecutors.install() must be called on the main thread, first of all")
        let made = SleepingPool(on: PlatformExecutorFactory.defaultExecutor, precision, spinBudget)
        let isFirst = installed.withLock { installed in
            if installed != nil { return false }
            installed = made
            return true
        }
        guard isFirst else { return }
        _createExecutors(factory: Self.self)
        // Whatever the interface does now, tasks run and sleep, if not on these executors.
        if Task.defaultExecutor as AnyObject !== made || MainActor.executor as AnyObject !== main {
            reportNotInstalled("it keeps its own executors")
        }
        // A task that sleeps now may enqueue a job of the main actor at any time.
        TimerLoop.main.isKeptAlive = true
        MainQueue.findHost()
    }

    static var isMainThread: Bool { hrt_thread_id() == getpid() }
}

extension SleepingPool: TaskExecutor, SchedulingExecutor {}
extension LoopMainExecutor: MainExecutor {}
#else
import HRTimer

/// Built for a compiler whose standard library has another interface: its own executors stay.
enum Executors {
    static func install(_ precision: TimerPrecision, _ spinBudget: Double?) {
        reportNotInstalled("this library was built with HRTIMER_NO_CUSTOM_EXECUTORS")
        // As otherwise, for a program whose main thread runs it.
        TimerLoop.main.isKeptAlive = true
    }

    static var pendingSleeps: Int { 0 }
}
#endif

extension Executors {
    private static func reportNotInstalled(_ reason: String) {
        UsageWarning.report(
            UsageWarning(
                .runtimeDiffers,
                "the standard library's executors stay, for \(reason): Task.sleep is no timer of HRTimer, and ends later; sleep on its clocks"
            )
        )
    }
}
#endif
#endif
