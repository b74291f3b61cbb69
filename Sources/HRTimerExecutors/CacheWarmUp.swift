#if os(Linux)
#if compiler(>=6.3)
@_spi(ExperimentalCustomExecutors) import _Concurrency
import HRTimer
import Synchronization

/// A dummy sleep that ends while a thread waits for a deadline. It brings the runtime's code that resumes a task after its
/// sleep into the cache before the deadline: uncached, that code takes 3 to 15 µs. The dummy sleep begins again after the
/// sleeping task has resumed.
///
/// Warm-ups take at most `budget`, a fraction of a processor: after one warm-up the next waits until the budget allows it.
final class CacheWarmUp: Sendable {
    private let state = Locked(State())

    private struct State: Sendable {
        /// The address of the dummy task, which never ends. It is only compared.
        var sleeper: UInt?
        /// The job that ends the dummy sleep; nil while the dummy task is awake.
        var job: UnownedJob?
        /// The continuation that makes the dummy task sleep again; nil until the dummy task has resumed.
        var again: UnsafeContinuation<Void, Never>?
    }

    private let budget: Double
    /// How long the latest warm-ups took.
    private let takes_ns = Atomic<Int64>(8_000)
    /// When the next warm-up may begin, on `CLOCK_MONOTONIC`.
    private let nextAt_ns = Atomic(Int64.min)

    init(_ budget: Double) {
        self.budget = max(budget, 1e-6)
    }

    /// Returns how much earlier a thread must wake to have time for a warm-up.
    func lead_ns(_ now_ns: Int64) -> Int64 {
        now_ns < nextAt_ns.load(ordering: .relaxed) ? 0 : takes_ns.load(ordering: .relaxed)
    }

    /// Starts the dummy task. Must not be called before the executors are installed.
    func start() {
        Task.detached { [self] in
            withUnsafeCurrentTask { task in
                let address = task.map(Self.address)
                state.withLock { $0.sleeper = address }
            }
            while true {
                // `run` ends this sleep. Its deadline must only not be past.
                try? await Task.sleep(until: .now + .seconds(3600), clock: .suspending)
                // Unsafe: `prepare` resumes it exactly once.
                await withUnsafeContinuation { again in state.withLock { $0.again = again } }
            }
        }
    }

    /// Keeps the job of the dummy sleep, which only the next `run` ends. Returns false for the job of another task.
    func keep(_ job: UnownedJob, of task: UnsafeCurrentTask) -> Bool {
        state.withLock { state in
            guard state.sleeper == Self.address(task) else { return false }
            state.job = job
            return true
        }
    }

    /// Warms up if there is enough time. One thread at a time.
    func run(before deadline_ns: Int64, on time: TimeBase) {
        let begun_ns = time.now_ns
        let takes_ns = takes_ns.load(ordering: .relaxed)
        if deadline_ns - begun_ns <= takes_ns {
            // The estimate shrinks: otherwise no warm-up would follow one that was interrupted.
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

    /// Makes the dummy task sleep again. Called after the sleeping task has run: the code for that is in the cache then.
    func prepare() {
        guard let again = state.withLock({ $0.again.take() }) else { return }
        LeaderJob.run { again.resume() }
    }

    private static func address(_ task: UnsafeCurrentTask) -> UInt {
        // Unsafe: the task is a single reference, whose size unsafeBitCast checks.
        unsafeBitCast(task, to: UInt.self)
    }
}
#endif
#endif
