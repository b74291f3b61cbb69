// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if ServiceLifecycle
public import HRTimerCore
public import ServiceLifecycle

/// Work that is done again and again until the graceful shutdown, as a service of swift-service-lifecycle.
///
///     let cleanUp = PeriodicService(every: .seconds(60)) { error in logger.error("\(error)") } work: {
///         try await store.removeExpired()
///     }
///     try await ServiceGroup(services: [server, cleanUp], logger: logger).run()
///
/// With `import HRTimerCalendar` the work can follow a calendar: `PeriodicService(by: evening) …`. With
/// `PeriodicService(ticks:)` it can follow any other ticks, with a policy for missed ones.
///
/// * The work runs in the service's task, and never twice at once. Intervals form a grid, without drift. What comes due while
///   the work goes on is one call after it, unless the ticks have another policy.
/// * An error is passed to `onError`, and the work is done again at the next tick.
/// * At the graceful shutdown `run()` returns: at once if it waits for a tick, otherwise when the work has ended. The work
///   may look at `Task.isShuttingDownGracefully` to end sooner. No work is begun after the shutdown, even if that was asked
///   for before `run()`.
/// * When the task of `run()` is cancelled, so is the work, and `run()` throws `CancellationError`, at once or when the work
///   has ended. If the task was cancelled before, nothing is done.
/// * When the ticks end, after the last date of a schedule or because their engine was shut down, `run()` returns. A group
///   takes that for a service which ended too early, unless the group's configuration says otherwise.
///
/// Only with the package's trait `ServiceLifecycle`.
public struct PeriodicService: Service {
    /// When the work is done first, and what an error of that first run means.
    public enum FirstRun: Sendable, Hashable, CaseIterable {
        /// At the first tick: one interval after the start.
        case atTick
        /// When the service starts, and then at the ticks, whose grid begins then.
        case atStart
        /// As `atStart`, but `run()` throws an error of that first run: for work without which the service cannot start.
        case atStartOrFail
    }

    private let makeTicks: @Sendable () -> any TickSequence
    private let firstRun: FirstRun
    private let onError: @Sendable (any Error) -> Void
    private let work: @Sendable () async throws -> Void

    /// Does `work` at each tick of the sequence that `ticks` makes. `ticks` is called once for each `run()`.
    ///
    /// - Parameters:
    ///   - ticks: makes the ticks, which the service cancels at its end.
    ///   - firstRun: whether the work is done at the start too.
    ///   - onError: is called with each error of the work, in the service's task; not with the one that a cancelled task throws.
    ///   - work: what is to be done.
    public init<Ticks: TickSequence>(
        ticks: @escaping @Sendable () -> Ticks,
        firstRun: FirstRun = .atTick,
        onError: @escaping @Sendable (any Error) -> Void,
        work: @escaping @Sendable () async throws -> Void
    ) {
        makeTicks = { ticks() }
        self.firstRun = firstRun
        self.onError = onError
        self.work = work
    }

    /// Does `work` at that interval, counted from the start; zero or less, and NaN, count as 0.1 ms. With a `jitter` each run
    /// comes later by a random time, so that a service's instances do not fall together.
    public init(
        every interval: some TimeSpan,
        jitter: Jitter? = nil,
        clock: MonotonicClock = .monotonic,
        firstRun: FirstRun = .atTick,
        onError: @escaping @Sendable (any Error) -> Void,
        work: @escaping @Sendable () async throws -> Void
    ) {
        self.init(
            ticks: {
                let interval = interval.asDuration ?? .zero
                return clock.ticks(every: interval, first: clock.now.advanced(by: interval), jitter: jitter)
            },
            firstRun: firstRun,
            onError: onError,
            work: work
        )
    }

    /// Does the work until the graceful shutdown; see the type for how it ends.
    public func run() async throws {
        try await run(makeTicks())
    }

    private func run(_ ticks: some TickSequence) async throws {
        defer { ticks.cancel() }
        try await withGracefulShutdownHandler {
            try Task.checkCancellation()
            // Made before the first run, so that what comes due during it is not lost.
            var iterator = ticks.makeAsyncIterator()
            if firstRun != .atTick, !ticks.isCancelled {
                try await runWork(failing: firstRun == .atStartOrFail)
            }
            while await iterator.next(isolation: #isolation) != nil, !ticks.isCancelled {
                try await runWork(failing: false)
            }
            try Task.checkCancellation()
        } onGracefulShutdown: {
            ticks.cancel()
        }
    }

    private func runWork(failing: Bool) async throws {
        do {
            try await work()
        } catch {
            if Task.isCancelled { throw CancellationError() }
            if failing { throw error }
            onError(error)
        }
        try Task.checkCancellation()
    }
}
#endif
#endif
