#if compiler(>=6.3)
import CHRTimer
@_spi(ExperimentalCustomExecutors) import _Concurrency
import Dispatch
import HRTimer
import Synchronization

/// Sleeps that are called early: a thread of the pool is called a lead before the deadline, spins until that, and goes on with the sleeping
/// task itself. The lead follows what wake-up and hop took lately, together, within a budget (`hrt_margin`).
///
/// One thread at a time spins: who comes meanwhile, or after the budget is spent, has its timer at the deadline and a hop
/// after it, as without a lead. So the pool is never full of threads that spin.
final class EarlyRise: Sendable {
    private let margin: Locked<SpinMargin>
    private let isTaken = Atomic(false)

    init(_ spinBudget: Double, coverage: Double) {
        margin = Locked(SpinMargin(budget: spinBudget, coverage: coverage, now_ns: TimeBase.kernel.now_ns))
    }

    private struct Sleep: Sendable {
        let job: UnownedJob
        let engine: EngineCore
        let deadline_ns: Int64
        /// From when it was asked for: sleeps of different length wake from different idle states.
        let length_ns: Int64
    }

    func add(_ job: UnownedJob, _ engine: EngineCore, _ deadline_ns: Int64) {
        let length_ns = deadline_ns.subtractingSaturating(engine.time.now_ns)
        let sleep = Sleep(
            job: job,
            engine: engine,
            deadline_ns: deadline_ns,
            length_ns: length_ns
        )
        wait(sleep, lead(length_ns))
    }

    private func lead(_ length_ns: Int64) -> Int64 {
        let now_ns = TimeBase.kernel.now_ns
        return margin.withLock { hrt_margin_ns($0.c, max(0, length_ns), now_ns) }
    }

    private func wait(_ sleep: Sleep, _ lead_ns: Int64) {
        var request = EngineCore.Request()
        request.deadline_ns = sleep.deadline_ns == .max ? .max : sleep.deadline_ns.subtractingSaturating(lead_ns)
        let action: EngineCore.Action
        if lead_ns > 0 {
            action = .call { [self] fire in rise(sleep, fire) }
        } else {
            action = .call { _ in sleep.job.runAsInPool() }
        }
        _ = sleep.engine.schedule(action, request)
    }

    /// The engine's thread, a lead before the deadline.
    private func rise(_ sleep: Sleep, _ fire: TimerFire) {
        let now_ns = sleep.engine.time.now_ns
        let called_ns = fire.deadline.nanoseconds
        if now_ns >= sleep.deadline_ns {
            record(sleep, latency_ns: now_ns - called_ns)
            return sleep.job.runAsInPool()
        }
        // Others may have spent the budget since.
        let lead_ns = lead(sleep.length_ns)
        if lead_ns < (sleep.deadline_ns - now_ns) / 2 { return wait(sleep, lead_ns) }
        guard isTaken.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged else {
            return wait(sleep, 0)
        }
        DispatchQueue.global(qos: .init(sleep.job.priority)).async { [self] in
            let begun_ns = sleep.engine.time.now_ns
            let spun_ns = max(0, sleep.deadline_ns - begun_ns)
            record(sleep, latency_ns: begun_ns - called_ns, spun_ns: spun_ns)
            // Before the deadline nothing may be resumed: a task that was kept from suspending until now would go on at once, where
            // it is, and one whose actor is busy there.
            spin(sleep)
            HandOver.run(sleep.job)
        }
    }

    /// A thread of the pool. What it spins was counted before.
    private func spin(_ sleep: Sleep) {
        while sleep.engine.time.now_ns < sleep.deadline_ns {}
        isTaken.store(false, ordering: .releasing)
    }

    private func record(_ sleep: Sleep, latency_ns: Int64, spun_ns: Int64 = 0) {
        margin.withLock { margin in
            hrt_margin_record_wake(margin.c, max(0, sleep.length_ns), latency_ns)
            if spun_ns > 0 { hrt_margin_record_spin(margin.c, spun_ns) }
        }
    }
}

extension DispatchQoS.QoSClass {
    /// The class of the standard library's own queues for such jobs.
    fileprivate init(_ priority: JobPriority) {
        switch priority.rawValue {
        case 0x21...: self = .userInteractive
        case 0x19...: self = .userInitiated
        case 0x15...: self = .default
        case 0x11...: self = .utility
        case 0x01...: self = .background
        default: self = .default
        }
    }
}
#endif
