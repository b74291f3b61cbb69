// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import Logging
import Metrics
import MetricsTestKit
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

/// The additions of the traits ServiceLifecycle and Metrics.
@Suite("Servers", .timeLimit(.minutes(5)))
struct ServerTests {
    private func service(_ pending: Int) throws -> (TimerEngineService, AsyncStream<Int>) {
        let (reports, report) = AsyncStream.makeStream(of: Int.self)
        let engine = try TimerEngine()
        for _ in 0..<pending { engine.schedule(after: .seconds(3600)) { _ in } }
        return (TimerEngineService(engine) { droppedTimers, _ in report.yield(droppedTimers) }, reports)
    }

    @Test("An engine that is a service ends with the graceful shutdown, and reports how many timers it dropped")
    func shutdown() async throws {
        let (service, reports) = try service(3)
        let sleeper = Task {
            try await MonotonicClock(engine: service.engine).sleep(until: .distantFuture)
        }
        while service.engine.liveTimers != 4 { await Task.yield() }
        try await testGracefulShutdown { trigger in
            async let run: Void = service.run()
            trigger.triggerGracefulShutdown()
            try await run
        }
        var iterator = reports.makeAsyncIterator()
        let report = await iterator.next()
        #expect(report == 4)
        #expect(service.engine.liveTimers == 0)
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }

    @Test("An engine whose service is cancelled ends too, and reports")
    func cancelled() async throws {
        let (service, reports) = try service(1)
        let run = Task { try await service.run() }
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        var iterator = reports.makeAsyncIterator()
        #expect(await iterator.next() == 1)
    }

    /// The group, and with it the service's last copy, is gone when this returns.
    private func groupThatIsShutDownFirst(_ engine: TimerEngine, _ report: AsyncStream<Int>.Continuation) async {
        let service = TimerEngineService(engine) { droppedTimers, _ in report.yield(droppedTimers) }
        let group = ServiceGroup(services: [service], logger: Logger(label: "test"))
        await group.triggerGracefulShutdown()
        // Older groups run no service then, and throw.
        try? await group.run()
    }

    @Test("An engine whose group is shut down before it runs is released")
    func shutdownBeforeRun() async throws {
        let engine = try TimerEngine()
        for _ in 0..<2 { engine.schedule(after: .seconds(3600)) { _ in } }
        let (reports, report) = AsyncStream.makeStream(of: Int.self)
        await groupThatIsShutDownFirst(engine, report)
        var iterator = reports.makeAsyncIterator()
        #expect(await iterator.next() == 2)
        #expect(engine.deadline(of: engine.schedule(after: .seconds(1)) { _ in }) == nil)
    }

    private func serviceThatNeverRuns(_ engine: TimerEngine, _ report: AsyncStream<Int>.Continuation) {
        let service = TimerEngineService(engine) { droppedTimers, _ in report.yield(droppedTimers) }
        let copy = service
        withExtendedLifetime((service, copy)) {}
    }

    @Test("An engine whose service never runs is released with the service's last copy, even if others hold the engine")
    func neverRun() async throws {
        let engine = try TimerEngine()
        let token = engine.schedule(after: .seconds(3600)) { _ in }
        let (reports, report) = AsyncStream.makeStream(of: Int.self)
        serviceThatNeverRuns(engine, report)
        var iterator = reports.makeAsyncIterator()
        #expect(await iterator.next() == 1)
        #expect(engine.deadline(of: token) == nil)
        #expect(engine.liveTimers == 0)
    }

    @Test("A service that is added to a group which has ended is released")
    func addedTooLate() async throws {
        let engine = try TimerEngine()
        let (reports, report) = AsyncStream.makeStream(of: Int.self)
        let group = ServiceGroup(services: [], logger: Logger(label: "test"))
        try await group.run()
        await group.addServiceUnlessShutdown(
            TimerEngineService(engine) { droppedTimers, _ in report.yield(droppedTimers) }
        )
        var iterator = reports.makeAsyncIterator()
        #expect(await iterator.next() == 0)
        #expect(engine.deadline(of: engine.schedule(after: .seconds(1)) { _ in }) == nil)
    }

    @Test("A service that has run reports once")
    func reportsOnce() async throws {
        let (reports, report) = AsyncStream.makeStream(of: Int.self)
        do {
            let service = TimerEngineService(try TimerEngine()) { droppedTimers, _ in report.yield(droppedTimers) }
            try await testGracefulShutdown { trigger in
                trigger.triggerGracefulShutdown()
                try await service.run()
            }
        }
        report.finish()
        #expect(await reports.reduce(0) { count, _ in count + 1 } == 1)
    }

    @Test("Lateness and counts are reported as metrics")
    func metrics() throws {
        let metrics = TestMetrics()
        MetricsSystem.bootstrap(metrics)
        let time = ManualTime()
        var configuration = TimerEngine.Configuration(time: time.base)
        configuration.recordLateness(label: "test.lateness")
        let engine = try TimerEngine(configuration)
        let reporter = EngineMetrics(of: engine, label: "test", every: .seconds(10))
        engine.onLate(beyond: .milliseconds(1)) { _ in }
        engine.schedule(after: .seconds(1), every: .seconds(1)) { fire in
            // Makes the next fire late by half a second.
            if fire.missedTicks == 0 { time.advance(by: .milliseconds(1500)) }
        }
        time.advance(by: .seconds(20))
        let lateness = try metrics.expectTimer("test.lateness")
        #expect(lateness.values.contains(500_000_000))
        #expect(try metrics.expectCounter("test.fires").totalValue > 0)
        #expect(try metrics.expectCounter("test.late-fires").totalValue > 0)
        let handler = try metrics.expectCounter("test.lateness-ns", [("cause", "handlerBefore")])
        #expect(handler.totalValue > 0)
        #expect(handler.totalValue % 500_000_000 == 0)
        #expect(try metrics.expectMeter("test.timers").lastValue == 2)
        withExtendedLifetime(reporter) {}
        engine.cancel(engine.schedule(after: .seconds(1)) { _ in })
    }
}
