// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimer
import HRTimerCalendar
import HRTimerTesting
import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

/// Work at intervals and by the calendar as a service, in virtual time.
@Suite("A periodic service", .timeLimit(.minutes(5)))
struct PeriodicServiceTests {
    /// What the work saw, in seconds since the start.
    private actor Log {
        private let start = MonotonicInstant.now
        private(set) var lines: [String] = []
        private var running = 0

        func note(_ line: String) {
            lines.append("\((MonotonicInstant.now - start) / .seconds(1)) \(line)")
        }

        func begin() {
            running += 1
            note(running == 1 ? "begin" : "begin beside another")
        }

        func end() {
            running -= 1
            note("end")
        }
    }

    private struct Broken: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs a service, and shuts it down gracefully after `duration`.
    private func run(_ service: PeriodicService, for duration: Duration) async throws {
        try await testGracefulShutdown { trigger in
            async let run: Void = service.run()
            try await Task.sleep(for: duration, clock: .monotonic)
            trigger.triggerGracefulShutdown()
            try await run
        }
    }

    @Test("does its work every interval on a grid, reports errors, and goes on")
    func errors() async throws {
        try await withManualTime { time in
            let log = Log()
            let service = PeriodicService(every: .seconds(10)) { error in
                Task { await log.note("\(error)") }
            } work: {
                await log.note("work")
                try await Task.sleep(for: .seconds(3), clock: .monotonic)
                if await log.lines.count == 1 { throw Broken(description: "broken") }
            }
            try await run(service, for: .seconds(35))
            #expect(await log.lines == ["10.0 work", "13.0 broken", "20.0 work", "30.0 work"])
            try time.checkNothingIsPending()
        }
    }

    @Test("never does its work twice at once: ticks that come due during the work make one run after it")
    func neverTwiceAtOnce() async throws {
        try await withManualTime { _ in
            let log = Log()
            let service = PeriodicService(every: .seconds(10)) { _ in
            } work: {
                await log.begin()
                try await Task.sleep(for: .seconds(25), clock: .monotonic)
                await log.end()
            }
            try await run(service, for: .seconds(70))
            #expect(
                await log.lines == ["10.0 begin", "35.0 end", "35.0 begin", "60.0 end", "60.0 begin", "85.0 end"]
            )
        }
    }

    @Test("lets its work end uncancelled at a graceful shutdown, and ends its own sleep at once")
    func gracefulShutdown() async throws {
        try await withManualTime { time in
            let log = Log()
            let service = PeriodicService(every: .seconds(10)) { _ in
            } work: {
                try? await Task.sleep(for: .seconds(5), clock: .monotonic)
                await log.note(Task.isCancelled ? "cancelled" : "done, shutting down \(Task.isShuttingDownGracefully)")
            }
            let start = time.now
            try await run(service, for: .seconds(12))
            #expect(await log.lines == ["15.0 done, shutting down true"])
            #expect(time.now - start == .seconds(15))
            try await run(service, for: .seconds(9))
            #expect(time.now - start == .seconds(24))
            #expect(await log.lines.count == 1)
            try time.checkNothingIsPending()
        }
    }

    @Test("does nothing if its shutdown was requested before it ran", arguments: PeriodicService.FirstRun.allCases)
    func shutDownBefore(_ firstRun: PeriodicService.FirstRun) async throws {
        try await withManualTime { time in
            let log = Log()
            let service = PeriodicService(every: .seconds(10), firstRun: firstRun) { _ in
            } work: {
                await log.note("work")
            }
            let start = time.now
            try await testGracefulShutdown { trigger in
                trigger.triggerGracefulShutdown()
                try await service.run()
            }
            #expect(await log.lines == [])
            #expect(time.now == start)
            try time.checkNothingIsPending()
        }
    }

    @Test("does nothing and throws if it was cancelled before it ran", arguments: PeriodicService.FirstRun.allCases)
    func cancelledBefore(_ firstRun: PeriodicService.FirstRun) async throws {
        try await withManualTime { time in
            let log = Log()
            let service = PeriodicService(every: .seconds(10), firstRun: firstRun) { _ in
            } work: {
                await log.note("work")
            }
            let task = Task { try await service.run() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(await log.lines == [])
            try time.checkNothingIsPending()
        }
    }

    @Test("that is cancelled cancels its work, waits for it, and does not report its error")
    func cancelled() async throws {
        try await withManualTime { time in
            let log = Log()
            let service = PeriodicService(every: .seconds(10)) { error in
                Task { await log.note("told \(error)") }
            } work: {
                do {
                    try await Task.sleep(for: .seconds(60), clock: .monotonic)
                } catch {
                    await log.note("cancelled")
                    throw Broken(description: "for that")
                }
            }
            let task = Task { try await service.run() }
            await time.advance(by: .seconds(12))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(await log.lines == ["12.0 cancelled"])
        }
    }

    @Test("may do its work at the start, where an error ends the service or is reported")
    func firstRun() async throws {
        try await withManualTime { _ in
            let log = Log()
            @Sendable func service(_ firstRun: PeriodicService.FirstRun) -> PeriodicService {
                PeriodicService(every: .seconds(10), firstRun: firstRun) { error in
                    Task { await log.note("\(error)") }
                } work: {
                    await log.note("work")
                    throw Broken(description: "broken")
                }
            }
            try await run(service(.atStart), for: .seconds(15))
            #expect(await log.lines == ["0.0 work", "0.0 broken", "10.0 work", "10.0 broken"])
            await #expect(throws: Broken.self) { try await service(.atStartOrFail).run() }
            #expect(await log.lines.last == "15.0 work")
        }
    }

    @Test("by the calendar runs once a night through the end of summer time, even if its first run is long")
    func calendar() async throws {
        let berlin = TimeZone(identifier: "Europe/Berlin")!
        let night = try CalendarSchedule(matching: DateComponents(hour: 2, minute: 30), in: berlin)
        // 2026-10-25 02:00 in summer time: half an hour before the first of the two times that are called 02:30.
        let start = WallInstant(nanoseconds: 1_792_886_400_000_000_000)
        try await withManualTime(.init(wallStart: start)) { _ in
            let log = Log()
            let service = PeriodicService(by: night, firstRun: .atStart) { _ in
            } work: {
                await log.note("work")
                if await log.lines.count == 1 { try await Task.sleep(for: .seconds(3600), clock: .monotonic) }
            }
            try await run(service, for: .seconds(3 * 86_400))
            // The run of 02:30 came an hour after the start, after the first one; the next is 25 hours after its date.
            let hours = [0.0, 1, 25.5, 49.5].map { "\($0 * 3600) work" }
            #expect(await log.lines == hours)
        }
    }

    @Test("ends when its ticks do")
    func ticksEnd() async throws {
        try await withManualTime { time in
            let engine = try TimerEngine()
            let service = PeriodicService(every: .seconds(10), clock: MonotonicClock(engine: engine)) { _ in
            } work: {
            }
            let task = Task { try await service.run() }
            await time.advance(by: .seconds(12))
            await engine.shutdown()
            try await task.value
        }
    }

    @Test("runs in a service group, and ends with it")
    func group() async throws {
        try await withManualTime { time in
            let log = Log()
            let service = PeriodicService(every: .seconds(10)) { _ in
            } work: {
                await log.note("work")
            }
            let group = ServiceGroup(services: [service], logger: Logger(label: "test"))
            let task = Task { try await group.run() }
            await time.advance(by: .seconds(25))
            await group.triggerGracefulShutdown()
            try await task.value
            #expect(await log.lines == ["10.0 work", "20.0 work"])
            try time.checkNothingIsPending()
        }
    }
}
