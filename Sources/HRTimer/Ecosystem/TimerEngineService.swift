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
/// Services are shut down last to first: so list the engine before services that use timers. With the package's trait
/// `ServiceLifecycle` alone.
public struct TimerEngineService: Service {
    /// What was pending when the engine was shut down.
    public struct Report: Sendable {
        /// Timers that were live: scheduled, and neither cancelled nor fired for the last time. Sleeping tasks among them have
        /// thrown `CancellationError`.
        public let droppedTimers: Int
        /// The engine's statistics over its life.
        public let statistics: EngineStatistics
    }

    /// The engine, for services that make timers on it.
    public let engine: TimerEngine
    private let onShutdown: @Sendable (Report) -> Void

    /// A service that shuts `engine` down, and calls `onShutdown` when its thread has ended.
    public init(_ engine: TimerEngine, onShutdown: @escaping @Sendable (Report) -> Void) {
        self.engine = engine
        self.onShutdown = onShutdown
    }

    /// Returns when the engine has ended, after the graceful shutdown. If it is cancelled, it shuts the engine down,
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
        onShutdown(Report(droppedTimers: dropped, statistics: engine.statistics))
        if !isGraceful { throw CancellationError() }
    }
}
#endif
