// SPDX-License-Identifier: Apache-2.0
#if compiler(>=6.3)
@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency
import HRTimer

/// The default executor runs a job for a later instant of any clock once that clock has come there, never before.
@MainActor func delaysJobs() async throws {
    try await delaysJobs(by: HalfSpeedClock())
    try await delaysJobs(by: MonotonicClock())
    try await delaysJobs(by: BootTimeClock())
    try await delaysJobs(by: ContinuousClock())
    try await delaysJobs(by: SuspendingClock())
}

private func delaysJobs<C: Clock<Duration>>(by clock: C) async throws {
    for (length, isOnExecutor) in [(20, false), (20, true), (0, false), (0, true), (-4, false), (-4, true)] {
        let instant = clock.now.advanced(by: .milliseconds(length))
        let executor = LateExecutor { job in
            guard let pool = Task.defaultExecutor as? any SchedulingExecutor else {
                return print("the default executor takes nothing for later")
            }
            pool.enqueue(job, at: instant, tolerance: Duration?.none, clock: clock)
        }
        let reading: @Sendable () async -> C.Instant = { await Task(executorPreference: executor) { clock.now }.value }
        // A job from a thread of ours becomes a timer of that thread.
        let now =
            if isOnExecutor {
                await Task(executorPreference: try TimerExecutor()) { await reading() }.value
            } else {
                await reading()
            }
        expect(now >= instant, "\(C.self): early by \(now.duration(to: instant))")
    }
}

/// An executor that gives its jobs to somebody else.
private final class LateExecutor: TaskExecutor {
    private let take: @Sendable (consuming ExecutorJob) -> Void

    init(_ take: @escaping @Sendable (consuming ExecutorJob) -> Void) { self.take = take }

    func enqueue(_ job: consuming ExecutorJob) { take(job) }
}

/// A clock that runs at half speed since it was made: half of a wait is always left.
private struct HalfSpeedClock: Clock {
    typealias Instant = ContinuousClock.Instant
    private let start = ContinuousClock.now
    var now: Instant { start + (ContinuousClock.now - start) / 2 }
    var minimumResolution: Duration { .nanoseconds(1) }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws {}
}
#endif
