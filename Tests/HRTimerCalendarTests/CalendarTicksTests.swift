// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimer
import HRTimerCalendar
import HRTimerTesting
import TestSupport
import TestTraits
import Testing

/// Ticks by the calendar, in virtual time.
@Suite("Ticks by the calendar", .hangLimit)
struct CalendarTicksTests {
    private let options = TestTimeOptions(wallStart: WallInstant(date(2026, 10, 24, 12)))

    private func night(_ hour: Int = 2) throws -> CalendarSchedule {
        try CalendarSchedule(matching: DateComponents(hour: hour, minute: 30), in: berlin)
    }

    @Test("come once a night, even if that night has the time twice")
    func nights() async throws {
        let nights = try night()
        try await withManualTime(options) { time in
            var seen: [String] = []
            for await tick in WallClock().ticks(by: nights) {
                #expect(tick.lateness == .zero && tick.missedTicks == 0)
                seen.append(shown(tick.firedAt))
                if seen.count == 3 { break }
            }
            #expect(seen == ["10-25 02:30:00 +2", "10-26 02:30:00 +1", "10-27 02:30:00 +1"])
            #expect(time.wallNow == WallInstant(date(2026, 10, 27, 2, 30)))
        }
    }

    @Test("follow steps of the wall clock: missed dates that lie ahead again come, and no date comes twice")
    func steps() async throws {
        let nights = try night()
        try await withManualTime(options) { time in
            let seen = Recorder<String>()
            let ticks = WallClock().ticks(by: nights)
            let task = Task { for await tick in ticks { seen.append("\(shown(tick.firedAt)) \(tick.missedTicks)") } }
            await time.runUntilIdle()
            await time.setWall(to: WallInstant(date(2026, 10, 27, 12)))
            #expect(seen.all == ["10-27 12:00:00 +1 2"])
            await time.setWall(to: WallInstant(date(2026, 10, 24, 12)))
            await time.advance(by: .seconds(86_400))
            #expect(seen.count == 1)
            await time.advance(by: .seconds(86_400))
            #expect(seen.all == ["10-27 12:00:00 +1 2", "10-26 02:30:00 +1 0"])
            await time.setWall(to: WallInstant(date(2026, 10, 26, 2)))
            await time.advance(by: .seconds(2 * 86_400 + 3600))
            #expect(seen.all.dropFirst(2) == ["10-27 02:30:00 +1 0", "10-28 02:30:00 +1 0"])
            task.cancel()
            await task.value
        }
    }

    @Test(
        "that fall due while the consumer is busy are missed, as the policy says",
        arguments: [
            (MissedTickPolicy.merge, ["10-28 12:00:00 +1 missed 2", "10-29 02:30:00 +1 missed 0"]),
            (.mergeToGrid, ["10-29 02:30:00 +1 missed 3", "10-30 02:30:00 +1 missed 0"]),
            (.burst, ["10-28 12:00:00 +1 missed 0", "10-28 12:00:00 +1 missed 0"]),
            (.skip, ["10-29 02:30:00 +1 missed 3", "10-30 02:30:00 +1 missed 0"]),
            (.delay, ["10-29 02:30:00 +1 missed 0", "10-30 02:30:00 +1 missed 0"]),
        ]
    )
    func busy(_ policy: MissedTickPolicy, _ expected: [String]) async throws {
        let nights = try night()
        try await withManualTime(options) { _ in
            var iterator = WallClock().ticks(by: nights, policy: policy).makeAsyncIterator()
            _ = try await iterator.next()
            try await Task.sleep(until: WallInstant(date(2026, 10, 28, 12)), clock: .wall)
            var seen: [String] = []
            for _ in 0..<2 {
                guard let tick = try await iterator.next() else { break }
                seen.append("\(shown(tick.firedAt)) missed \(tick.missedTicks)")
            }
            #expect(seen == expected)
        }
    }

    @Test("end for all consumers on cancel(), and with their task, with their last date and with their engine")
    func ends() async throws {
        let nights = try night()
        let once = try CalendarSchedule(matching: DateComponents(year: 2026, month: 10, day: 25), in: berlin)
        try await withManualTime(options) { time in
            let ticks = WallClock().ticks(by: nights)
            let consumers = (0..<3).map { _ in Task { await ticks.reduce(0) { count, _ in count + 1 } } }
            await time.advance(by: .seconds(86_400))
            ticks.cancel()
            #expect(ticks.isCancelled)
            for consumer in consumers { #expect(await consumer.value == 1) }
            #expect(await ticks.reduce(0) { count, _ in count + 1 } == 0)

            let own = Task { await WallClock().ticks(by: nights).reduce(0) { count, _ in count + 1 } }
            await time.advance(by: .seconds(3 * 86_400))
            own.cancel()
            #expect(await own.value == 3)

            #expect(await WallClock().ticks(by: once).reduce(0) { count, _ in count + 1 } == 0)

            let engine = try WallTimerEngine()
            let last = Task { await WallClock(engine: engine).ticks(by: nights).reduce(0) { count, _ in count + 1 } }
            await time.runUntilIdle()
            await engine.shutdown()
            #expect(await last.value == 0)
            try time.checkNothingIsPending()
        }
    }

    @Test("begin at the first date after the iterator was made")
    func begin() async throws {
        let nights = try night()
        try await withManualTime(options) { time in
            var iterator = WallClock().ticks(by: nights).makeAsyncIterator()
            await time.advance(by: .seconds(86_400))
            let tick = try await iterator.next()
            #expect(tick.map { shown($0.deadline) } == "10-25 02:30:00 +2")
            // A day after noon, but the clocks went back an hour in the night: it is eleven o'clock.
            #expect(tick.map { shown($0.firedAt) } == "10-25 11:00:00 +1")
        }
    }
}
