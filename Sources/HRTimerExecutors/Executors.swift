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
    private static let pool = Locked<SleepingPool?>(nil)

    static var mainExecutor: any MainExecutor { main }
    static var defaultExecutor: any TaskExecutor {
        // `install` has set it.
        pool.withLock { $0! }
    }

    static var pendingSleeps: Int { pool.withLock { $0 }?.sleeps.count ?? 0 }

    /// The pool's sleeps.
    static var sleeps: Sleeps { pool.withLock { $0! }.sleeps }

    static func install(_ precision: TimerPrecision, _ spinBudget: Double?) {
        precondition(
            withUnsafeCurrentTask { $0 == nil },
            "TimerExecutors.install() must come before the first task: call it in a main that is not async"
        )
        precondition(isMainThread, "TimerExecutors.install() must be called on the main thread, first of all")
        let made = SleepingPool(precision, spinBudget)
        let isFirst = pool.withLock { pool in
            if pool != nil { return false }
            pool = made
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
