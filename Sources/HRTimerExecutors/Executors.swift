// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if compiler(>=6.3)
@_spi(ExperimentalCustomExecutors) import _Concurrency
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
        let made = SleepingPool(precision, spinBudget)
        let isFirst = installed.withLock { installed in
            if installed != nil { return false }
            installed = made
            return true
        }
        guard isFirst else { return }
        _createExecutors(factory: Self.self)
        // A task that sleeps now may enqueue a job of the main actor at any time.
        TimerLoop.main.isKeptAlive = true
        MainQueue.findHost()
    }

    static var isMainThread: Bool { hrt_thread_id() == getpid() }
}
#endif
#endif
