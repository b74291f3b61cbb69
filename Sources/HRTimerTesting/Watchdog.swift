// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimer

/// Watches a scheduler's thread from another thread: a thread that a job blocks cannot see that its patience is over. The test
/// then fails, its ready jobs go on elsewhere, and the thread is left in its job.
///
/// A timer, at most a quarter of the patience late. All virtual times of the process share one engine for it, on the kernel's
/// time.
final class Watchdog: Sendable {
    private static let engine = Locked<TimerEngine?>(nil)

    private let engine: TimerEngine
    private let token: TimerToken

    /// Calls each function at most once for one job or engine that the thread runs: `relieve` when that takes longer than
    /// `slow_ns`, `giveUp` when it takes longer than `patience_ns`. Throws EAGAIN if there is no room for a thread.
    init(
        _ scheduler: DeterministicScheduler,
        relieve: @escaping @Sendable (_ steps: Int) -> Void,
        giveUp: @escaping @Sendable () -> Void
    ) throws(TimerError) {
        engine = try Self.sharedEngine()
        let stage = Locked(Stage())
        let interval = Duration.nanoseconds(max(1_000_000, min(scheduler.patience_ns / 4, scheduler.slow_ns)))
        token = engine.schedule(after: interval, every: interval) { _ in
            let (steps, isInStep) = scheduler.state.withLock { ($0.steps, $0.step != nil) }
            let now_ns = TimeBase.kernel.now_ns
            let next = stage.withLock { stage -> Stage.Next? in
                if !isInStep || steps != stage.steps { stage = Stage(steps: steps, seen_ns: now_ns) }
                return stage.advance(at: now_ns, scheduler)
            }
            switch next {
            case .relieve: relieve(steps)
            case .giveUp: giveUp()
            case nil: break
            }
        }
    }

    /// What was called last for the present job, and since when the job runs.
    private struct Stage {
        enum Next { case relieve, giveUp }

        var steps = -1
        /// When the job was first seen; it began before that.
        var seen_ns: Int64 = 0
        var last: Next?

        mutating func advance(at now_ns: Int64, _ scheduler: DeterministicScheduler) -> Next? {
            let passed_ns = now_ns - seen_ns
            if passed_ns >= scheduler.patience_ns, last != .giveUp {
                last = .giveUp
            } else if passed_ns >= scheduler.slow_ns, last == nil {
                last = .relieve
            } else {
                return nil
            }
            return last
        }
    }

    deinit { cancel() }

    /// Idempotent.
    func cancel() { engine.cancel(token) }

    private static func sharedEngine() throws(TimerError) -> TimerEngine {
        if let engine = engine.withLock({ $0 }) { return engine }
        let made = try TimerEngine(.init(name: "hrtimer-watchdog", precision: .coalesced, time: .kernel))
        return engine.withLock { engine in
            let first = engine ?? made
            engine = first
            return first
        }
    }
}
#endif
