// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if ServiceLifecycle
public import HRTimerCore
public import ServiceLifecycle

/// An engine as a service of swift-service-lifecycle: it runs until the graceful shutdown, then shuts the engine down
/// and reports what was still pending.
///
///     let timers = TimerEngineService(try TimerEngine()) { droppedTimers, _ in
///         logger.info("\(droppedTimers) timers dropped")
///     }
///     try await ServiceGroup(services: [timers, server], logger: logger).run()
///
/// A group shuts services down from last to first: so list the engine before services that use timers.
///
/// The service owns the engine. If a group never runs it, because its shutdown was asked for before, the engine is released
/// as well: the last copy of the service shuts the engine down and reports, even if others hold the engine. Only with the
/// package's trait `ServiceLifecycle`.
public struct TimerEngineService: Service {
    private let owner: EngineOwner

    /// The engine, for services that make timers on it.
    public var engine: TimerEngine { owner.engine }

    /// Creates a service that shuts `engine` down, and calls `onShutdown` once, when the engine's thread has ended.
    ///
    /// `droppedTimers` were live then: scheduled, and neither cancelled nor fired for the last time. Sleeping tasks among them
    /// have thrown `CancellationError`. `statistics` are those of the engine's whole life.
    public init(
        _ engine: TimerEngine,
        onShutdown: @escaping @Sendable (_ droppedTimers: Int, _ statistics: TimerStatistics) -> Void
    ) {
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
    private let onShutdown: @Sendable (Int, TimerStatistics) -> Void
    private let isReported = Locked(false)

    init(_ engine: TimerEngine, _ onShutdown: @escaping @Sendable (Int, TimerStatistics) -> Void) {
        self.engine = engine
        self.onShutdown = onShutdown
    }

    /// Reports how many timers were dropped. Only the first call counts.
    func report(_ dropped: Int) {
        let isFirst = isReported.withLock { isReported in
            defer { isReported = true }
            return !isReported
        }
        if isFirst { onShutdown(dropped, engine.statistics) }
    }

    deinit {
        if isReported.withLock({ $0 }) { return }
        report(engine.shutdown())
    }
}
#endif
#endif
