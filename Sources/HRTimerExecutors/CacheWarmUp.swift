#if compiler(>=6.3)
@_spi(ExperimentalCustomExecutors) import _Concurrency
import HRTimer
import Synchronization

/// A dummy sleep that ends while a thread waits for a deadline anyway. It brings the code by which the runtime resumes a task
/// after its sleep into the cache before the deadline; outside of the cache that code takes 3 to 15 µs. The dummy sleep begins
/// again when the task has gone on.
///
/// It takes at most `budget` of a processor, a fraction: the next one waits until the last is paid for.
final class CacheWarmUp: Sendable {
    private let state = Locked(State())

    private struct State: Sendable {
        /// The task that sleeps, by its address: only compared, and it never ends.
        var sleeper: UInt?
        /// Ends its sleep; nil while it is awake.
        var job: UnownedJob?
        /// Has it sleep again; nil until it has gone on.
        var again: UnsafeContinuation<Void, Never>?
    }

    private let budget: Double
    /// What the last ones took.
    private let takes_ns = Atomic<Int64>(8_000)
    /// On `CLOCK_MONOTONIC`.
    private let nextAt_ns = Atomic(Int64.min)

    init(_ budget: Double) {
        self.budget = max(budget, 1e-6)
    }

    /// How much earlier a thread is to wake to have time for a warm-up.
    func lead_ns(_ now_ns: Int64) -> Int64 {
        now_ns < nextAt_ns.load(ordering: .relaxed) ? 0 : takes_ns.load(ordering: .relaxed)
    }

    /// Not before the executors are installed.
    func start() {
        Task.detached { [self] in
            withUnsafeCurrentTask { task in
                let address = task.map(Self.address)
                state.withLock { $0.sleeper = address }
            }
            while true {
                // Until `run` ends it: the deadline only must not be past.
                try? await Task.sleep(until: .now + .seconds(3600), clock: .suspending)
                // Unsafe: `prepare` resumes it exactly once.
                await withUnsafeContinuation { again in state.withLock { $0.again = again } }
            }
        }
    }

    /// True if it is the warm-up's own sleep, which only the next `run` ends.
    func keep(_ job: UnownedJob, of task: UnsafeCurrentTask) -> Bool {
        state.withLock { state in
            guard state.sleeper == Self.address(task) else { return false }
            state.job = job
            return true
        }
    }

    /// Warms up if there is time enough. One thread at a time.
    func run(before deadline_ns: Int64, on time: TimeBase) {
        let begun_ns = time.now_ns
        let takes_ns = takes_ns.load(ordering: .relaxed)
        if deadline_ns - begun_ns <= takes_ns {
            // Else one that was interrupted would be the last.
            self.takes_ns.store(max(2_000, takes_ns - takes_ns / 16), ordering: .relaxed)
            return
        }
        let now_ns = TimeBase.kernel.now_ns
        guard now_ns >= nextAt_ns.load(ordering: .relaxed), let job = state.withLock({ $0.job.take() }) else { return }
        LeaderJob.run { job.runAsInPool() }
        let took_ns = time.now_ns - begun_ns
        self.takes_ns.store(min(max(took_ns, takes_ns - takes_ns / 8), 50_000), ordering: .relaxed)
        nextAt_ns.store(now_ns + Int64(Double(took_ns) / budget), ordering: .relaxed)
    }

    /// After a warm-up, when there is time: what the task that was waited for did last is in the cache, too.
    func prepare() {
        guard let again = state.withLock({ $0.again.take() }) else { return }
        LeaderJob.run { again.resume() }
    }

    private static func address(_ task: UnsafeCurrentTask) -> UInt {
        // Unsafe: it is one reference, as the size that is checked here says.
        unsafeBitCast(task, to: UInt.self)
    }
}
#endif
