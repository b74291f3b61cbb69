#if os(Linux)
#if ServiceLifecycle
public import HRTimerCore
public import ServiceLifecycle

/// An engine as a service of swift-service-lifecycle: it runs until the graceful shutdown, then shuts the engine down
/// and reports what was still pending.
///
///     let timers = TimerEngineService(try TimerEngine()) { report in
///         logger.info("\(report.droppedTimers) timers dropped")
///     }
///     try await ServiceGroup(services: [timers, server], logger: logger).run()
///
/// A group shuts services down from last to first: so list the engine before services that use timers.
///
/// The service owns the engine. If a group never runs it, because its shutdown was asked for before, the engine is released
/// as well: the last copy of the service shuts the engine down and reports, even if others hold the engine. Only with the
/// package's trait `ServiceLifecycle`.
public struct TimerEngineService: Service {
    /// What was pending when the engine was shut down.
    public struct Report: Sendable {
        /// The number of timers that were live: scheduled, and neither cancelled nor fired for the last time. Sleeping tasks
        /// among them have thrown `CancellationError`.
        public let droppedTimers: Int
        /// The engine's statistics over its life.
        public let statistics: EngineStatistics
    }

    private let owner: EngineOwner

    /// The engine, for services that make timers on it.
    public var engine: TimerEngine { owner.engine }

    /// Creates a service that shuts `engine` down, and calls `onShutdown` once, when the engine's thread has ended.
    public init(_ engine: TimerEngine, onShutdown: @escaping @Sendable (Report) -> Void) {
        owner = EngineOwner(engine, onShutdown)
    }

    /// Returns when the engine has ended, after the graceful shutdown. If its task is cancelled, it shuts the engine down,
    /// reports, and throws `CancellationError`.
    public func run() async throws {
        let isGraceful: Bool
        do {
            try await gracefulShutdown()
            isGraceful = true
        } catch {
            isGraceful = false
        }
        let dropped = await engine.shutdown()
        owner.report(dropped)
        if !isGraceful { throw CancellationError() }
    }
}

/// The part that all copies of a service share. The last copy ends the engine, if no `run()` has.
private final class EngineOwner: Sendable {
    let engine: TimerEngine
    private let onShutdown: @Sendable (TimerEngineService.Report) -> Void
    private let isReported = Locked(false)

    init(_ engine: TimerEngine, _ onShutdown: @escaping @Sendable (TimerEngineService.Report) -> Void) {
        self.engine = engine
        self.onShutdown = onShutdown
    }

    /// Reports how many timers were dropped. Only the first call counts.
    func report(_ dropped: Int) {
        let isFirst = isReported.withLock { isReported in
            defer { isReported = true }
            return !isReported
        }
        if isFirst { onShutdown(.init(droppedTimers: dropped, statistics: engine.statistics)) }
    }

    deinit {
        if isReported.withLock({ $0 }) { return }
        report(engine.shutdown())
    }
}
#endif
#endif
