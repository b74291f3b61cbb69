#if compiler(>=6.3)
@_spi(ExperimentalCustomExecutors) import _Concurrency
import HRTimer

/// The sleeps of all tasks on the pool: timers of two engines, one for each clock of the standard library.
///
/// The job of a sleep resumes its task, which is all it does: it runs on the engine's thread, and the task is enqueued on the
/// pool by that.
final class Sleeps: Sendable {
    private let early: EarlyRise?
    private let monotonic: @Sendable () -> EngineCore
    private let bootTime: @Sendable () -> EngineCore

    init(_ precision: TimerPrecision, _ spinBudget: Double) {
        switch precision {
        case .coalesced: early = nil
        // What nine wakes of ten take anyway need not be waited for after the deadline; the spin of the tenth is next to nothing.
        case .normal: early = EarlyRise(min(spinBudget, 0.001), coverage: 0.1)
        case .precise: early = EarlyRise(spinBudget, coverage: SpinMargin.defaultCoverage)
        }
        let own = OwnEngines(precision == .coalesced ? .coalesced : .normal)
        monotonic = { own.monotonic.core }
        bootTime = { own.bootTime.core }
    }

    /// Sleeps that are not over, cancelled ones too.
    var count: Int { monotonic().liveTimers + bootTime().liveTimers }

    /// Runs the job when the deadline has come, never before.
    func add(_ job: UnownedJob, _ deadline: SleepDeadline, tolerance_ns: Int64) {
        switch deadline {
        case .monotonic(let deadline_ns): add(job, monotonic(), deadline_ns, tolerance_ns)
        case .bootTime(let deadline_ns): add(job, bootTime(), deadline_ns, tolerance_ns)
        case .other(let remaining):
            guard let wait = remaining() else { return job.runAsInPool() }
            let engine = monotonic()
            var request = EngineCore.Request()
            request.deadline_ns = engine.time.now_ns.addingSaturating(wait.nanosecondsRoundedUp)
            let again: EngineCore.Handler = { [self] _ in add(job, deadline, tolerance_ns: tolerance_ns) }
            _ = engine.schedule(.call(again), request)
        }
    }

    private func add(_ job: UnownedJob, _ engine: EngineCore, _ deadline_ns: Int64, _ tolerance_ns: Int64) {
        if let early { return early.add(job, engine, deadline_ns) }
        var request = EngineCore.Request()
        request.deadline_ns = deadline_ns
        request.tolerance_ns = tolerance_ns
        _ = engine.schedule(.call { _ in job.runAsInPool() }, request)
    }
}

/// Made by the first sleep on each clock, and never let go. They wait by timerfd: a task that sleeps again sets the deadline
/// itself, and does not wake the thread for it.
private final class OwnEngines: Sendable {
    private let precision: TimerPrecision
    private let engines = Locked<(TimerEngine?, BootTimeTimerEngine?)>((nil, nil))

    init(_ precision: TimerPrecision) {
        self.precision = precision
    }

    var monotonic: TimerEngine {
        if let engine = engines.withLock({ $0.0 }) { return engine }
        let made = orTrap {
            try TimerEngine(.init(name: "hrtimer-sleep", wayToWait: .timerfd, precision: precision, time: .kernel))
        }
        return engines.withLock { engines in
            let engine = engines.0 ?? made
            engines.0 = engine
            return engine
        }
    }

    var bootTime: BootTimeTimerEngine {
        if let engine = engines.withLock({ $0.1 }) { return engine }
        let made = orTrap {
            try BootTimeTimerEngine(.init(name: "hrtimer-sleep-b", precision: precision, time: .kernel))
        }
        return engines.withLock { engines in
            let engine = engines.1 ?? made
            engines.1 = engine
            return engine
        }
    }

    /// As with the shared engines: a sleep has no way to fail.
    private func orTrap<Engine>(_ make: () throws -> Engine) -> Engine {
        do {
            return try make()
        } catch {
            fatalError("the engine of all sleeps \(error)")
        }
    }
}
#endif
