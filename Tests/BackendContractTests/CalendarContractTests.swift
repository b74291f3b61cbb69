// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimer
import HRTimerCalendar
import TestTraits
import Testing

/// Calendar timers on the real wall clock.
@Suite("Calendar on the real clock", .hangLimit)
struct CalendarContractTests {
    private let seconds: CalendarSchedule

    init() throws {
        let utc = try #require(TimeZone(secondsFromGMT: 0))
        seconds = try CalendarSchedule(matching: DateComponents(nanosecond: 0), in: utc)
    }

    @Test("A timer for every second is never early, and fires once for each second")
    func timer() async throws {
        let engine = try WallTimerEngine()
        let (stream, came) = AsyncStream.makeStream(of: WallTimerEngine.Fire.self)
        let token = engine.schedule(by: seconds) { came.yield($0) }
        var last: WallInstant?
        for await fire in stream.prefix(2) {
            #expect(fire.firedAt >= fire.deadline)
            #expect(fire.deadline.nanoseconds % 1_000_000_000 == 0)
            if let last { #expect(fire.deadline > last) }
            last = fire.deadline
        }
        engine.cancel(token)
        await engine.shutdown()
    }

    @Test("Ticks for every second are never early, and each second has one")
    func ticks() async {
        var last: WallInstant?
        for await tick in WallClock().ticks(by: seconds).prefix(2) {
            #expect(tick.firedAt >= tick.deadline && WallInstant.now >= tick.deadline)
            #expect(tick.deadline.nanoseconds % 1_000_000_000 == 0)
            if let last { #expect(tick.deadline > last) }
            last = tick.deadline
        }
    }
}
