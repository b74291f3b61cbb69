// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimer
import HRTimerCalendar
import HRTimerCore
import HRTimerTesting
import Seeded
import TestSupport
import TestTraits
import Testing

/// Timers of a wall engine by the calendar, in manual time.
@Suite("A timer by the calendar", .hangLimit)
struct CalendarTimerTests {
    private let time: ManualTime
    private let engine: WallTimerEngine
    private let fires = Recorder<String>()

    init() throws {
        time = ManualTime(wallStart: WallInstant(date(2026, 3, 28, 12)))
        engine = try WallTimerEngine(time: time.base)
    }

    private func evening() throws -> CalendarSchedule {
        try CalendarSchedule(matching: DateComponents(hour: 20), in: berlin)
    }

    private func record(_ schedule: CalendarSchedule, _ policy: MissedTickPolicy = .merge) -> TimerToken {
        engine.schedule(by: schedule, policy: policy) { [fires] fire in
            fires.append("\(shown(fire.firedAt))\(fire.missedTicks == 0 ? "" : " missed \(fire.missedTicks)")")
        }
    }

    @Test("fires at 20:00 every day, also on days of 23 or 25 hours, and not a nanosecond earlier")
    func daily() throws {
        _ = record(try evening())
        time.advance(by: .seconds(8 * 3600) - .nanoseconds(1))
        #expect(fires.all == [])
        time.advance(by: .nanoseconds(1))
        #expect(fires.all == ["03-28 20:00:00 +1"])
        time.advance(by: .seconds(2 * 86_400))
        #expect(fires.all == ["03-28 20:00:00 +1", "03-29 20:00:00 +2", "03-30 20:00:00 +2"])
        fires.removeAll()
        time.advance(by: .seconds(210 * 86_400))
        #expect(fires.count == 210)
        #expect(fires.all.last?.hasSuffix("20:00:00 +1") == true)
    }

    @Test("at 02:30 fires once a night through both clock changes")
    func throughBothChanges() throws {
        _ = record(try CalendarSchedule(matching: DateComponents(hour: 2, minute: 30), in: berlin))
        time.advance(by: .seconds(360 * 86_400))
        #expect(fires.count == 360)
        #expect(Set(fires.all.map { $0.prefix(5) }).count == 360)
        #expect(fires.all.filter { !$0.contains(" 02:30:00") } == ["03-29 03:30:00 +2"])
        #expect(fires.all.contains("10-25 02:30:00 +2"))
    }

    @Test("with a unit left out fires once for each time of day, also if it is begun between two equal ones")
    func begunBetween() throws {
        // 02:30, for the second time in that night.
        let time = ManualTime(wallStart: WallInstant(date(2026, 10, 25, 2, 30) + 3600))
        let engine = try WallTimerEngine(time: time.base)
        let everyMinute = DateComponents(hour: 2, second: 0)
        let (first, last) = (Recorder<String>(), Recorder<String>())
        engine.schedule(by: try CalendarSchedule(matching: everyMinute, in: berlin)) { first.append(shown($0.firedAt)) }
        let schedule = try CalendarSchedule(matching: everyMinute, in: berlin, repeatedTimePolicy: .last)
        engine.schedule(by: schedule) { last.append(shown($0.firedAt)) }
        time.advance(by: .seconds(12 * 3600))
        #expect(first.all == [])
        #expect(last.all == (31...59).map { "10-25 02:\($0):00 +1" })
        time.advance(by: .seconds(24 * 3600))
        #expect(first.count == 60 && first.all.allSatisfy { $0.hasPrefix("10-26 02:") })
        #expect(last.count == 29 + 60)
    }

    @Test("does not fire for the same date again when the clock is set back after it")
    func setBack() throws {
        _ = record(try evening())
        time.advance(by: .seconds(8 * 3600))
        // A little, as NTP does, and by hours, as a person who sets the clock by hand does.
        time.setWall(to: WallInstant(date(2026, 3, 28, 20) - 0.2))
        time.advance(by: .seconds(1))
        time.setWall(to: WallInstant(date(2026, 3, 28, 12)))
        time.advance(by: .seconds(86_400))
        #expect(fires.all == ["03-28 20:00:00 +1"])
        time.advance(by: .seconds(86_400))
        #expect(fires.count == 2)
    }

    @Test(
        "fires at the next date of a clock that was 72 years ahead, once that is set right",
        arguments: [true, false]
    )
    func wrongYear(wasCalled: Bool) throws {
        let time = ManualTime(wallStart: WallInstant(date(2098, 3, 28, 12)))
        let engine = try WallTimerEngine(time: time.base)
        let fires = fires
        engine.schedule(by: try evening()) { fires.append(shown($0.firedAt)) }
        if wasCalled { time.advance(by: .seconds(5 * 86_400)) }
        fires.removeAll()
        time.setWall(to: WallInstant(date(2026, 3, 28, 12)))
        time.advance(by: .seconds(2 * 86_400))
        #expect(fires.all == ["03-28 20:00:00 +1", "03-29 20:00:00 +2"])
    }

    @Test("fires at the dates of the week before, once its own handler has set the clock back to that week")
    func setBackInHandler() throws {
        let (time, fires) = (time, fires)
        let weekBefore = WallInstant(date(2026, 3, 20, 12))
        engine.schedule(by: try evening()) {
            fires.append(shown($0.firedAt))
            if fires.count == 1 { time.setWall(to: weekBefore) }
        }
        time.advance(by: .seconds(8 * 3600))
        time.advance(by: .seconds(2 * 86_400))
        #expect(fires.all == ["03-28 20:00:00 +1", "03-20 20:00:00 +1", "03-21 20:00:00 +1"])
    }

    @Test(
        "fires at each date that no call was for, after a step of the clock to 2098 by mistake was taken back",
        arguments: MissedTickPolicy.allCases.filter { $0 != .burst }
    )
    func mistake(_ policy: MissedTickPolicy) throws {
        _ = record(try evening(), policy)
        time.setWall(to: WallInstant(date(2098, 3, 28, 12)))
        time.advance(by: .zero)
        fires.removeAll()
        time.setWall(to: WallInstant(date(2026, 3, 28, 12)))
        time.advance(by: .seconds(3 * 86_400))
        // With .skip no call was made in 2098.
        let first = policy == .skip ? ["03-28 20:00:00 +1"] : []
        #expect(fires.all == first + ["03-29 20:00:00 +2", "03-30 20:00:00 +2"])
    }

    @Test("calls once for each date, whichever way the clock is set within a week")
    func eachOnce() throws {
        var random = SeededRandom.fromEnvironment()
        let called = Recorder<WallInstant>()
        engine.schedule(by: try evening()) { called.append($0.deadline) }
        for _ in 0..<60 {
            let wall = WallInstant(date(2026, 3, 28, 12)) + .seconds(Int.random(in: 0...4 * 86_400, using: &random))
            time.setWall(to: wall)
            time.advance(by: .seconds(Int.random(in: 0...2 * 86_400, using: &random)))
        }
        #expect(Set(called.all).count == called.count)
        time.setWall(to: WallInstant(date(2026, 4, 3, 12)))
        let before = called.count
        time.advance(by: .seconds(5 * 86_400))
        #expect(called.count - before >= 2)
    }

    @Test("never fires before its date when the clock runs slow or is set back before the date")
    func setBackBefore() throws {
        _ = record(try evening())
        time.advance(by: .seconds(8 * 3600) - .milliseconds(200))
        time.setWall(to: WallInstant(date(2026, 3, 28, 19)))
        time.advance(by: .seconds(1800))
        #expect(fires.all == [])
        time.advance(by: .seconds(1800))
        #expect(fires.all == ["03-28 20:00:00 +1"])
    }

    @Test(
        "counts the dates that it missed when the clock is set forward, by its policy",
        arguments: [
            (MissedTickPolicy.merge, ["04-02 12:00:00 +2 missed 4", "04-02 20:00:00 +2"]),
            (.mergeToGrid, ["04-02 12:00:00 +2 missed 4", "04-02 20:00:00 +2"]),
            (.burst, Array(repeating: "04-02 12:00:00 +2", count: 5) + ["04-02 20:00:00 +2"]),
            (.skip, ["04-02 20:00:00 +2 missed 5"]),
            (.delay, ["04-02 12:00:00 +2", "04-02 20:00:00 +2"]),
        ]
    )
    func missed(_ policy: MissedTickPolicy, _ expected: [String]) throws {
        _ = record(try evening(), policy)
        time.setWall(to: WallInstant(date(2026, 4, 2, 12)))
        time.advance(by: .seconds(8 * 3600))
        #expect(fires.all == expected)
    }

    @Test("counts missed dates in the engine's statistics")
    func statistics() throws {
        _ = record(try evening())
        time.setWall(to: WallInstant(date(2026, 4, 2, 12)))
        #expect(engine.statistics.missedTicks == 4)
        #expect(engine.statistics.fires == 1)
    }

    @Test("can be moved, and then continues with its dates")
    func moved() throws {
        let token = record(try evening())
        #expect(engine.deadline(of: token) == WallInstant(date(2026, 3, 28, 20)))
        #expect(engine.reschedule(token, at: WallInstant(date(2026, 3, 28, 13))))
        time.advance(by: .seconds(86_400))
        #expect(fires.all == ["03-28 13:00:00 +1", "03-28 20:00:00 +1"])
        #expect(engine.reschedule(token, at: WallInstant(date(2026, 3, 30, 21)), every: .seconds(1)))
        time.advance(by: .seconds(3 * 86_400))
        #expect(fires.all.dropFirst(2) == ["03-30 21:00:00 +2", "03-31 20:00:00 +2"])
    }

    @Test("moved in its own handler fires at the new deadline next, and then at its dates")
    func movedInside() throws {
        let (engine, fires) = (engine, fires)
        engine.schedule(by: try evening()) { [weak engine] fire in
            fires.append(shown(fire.firedAt))
            if fires.count == 1 { engine?.reschedule(fire.token, at: fire.deadline + .seconds(60)) }
        }
        time.advance(by: .seconds(2 * 86_400))
        #expect(fires.all == ["03-28 20:00:00 +1", "03-28 20:01:00 +1", "03-29 20:00:00 +2"])
    }

    @Test("cancelled in its handler does not fire again, and its handler is freed")
    func cancelledInside() throws {
        let canaries = Canaries()
        let canary = canaries.make()
        let (engine, fires) = (engine, fires)
        engine.schedule(by: try evening()) { [weak engine, canary] fire in
            fires.append("\(engine?.cancel(fire.token) ?? false)")
            withExtendedLifetime(canary) {}
        }
        withExtendedLifetime(canary) {}
        time.advance(by: .seconds(5 * 86_400))
        #expect(fires.all == ["true"])
        #expect(engine.liveTimers == 0)
    }

    private func scheduleHolding(_ canary: any AnyObject & Sendable, on engine: WallTimerEngine) throws {
        engine.schedule(by: try evening()) { _ in withExtendedLifetime(canary) {} }
    }

    @Test("is freed with its engine, and after its last date")
    func freed() throws {
        let canaries = Canaries()
        do {
            let engine = try WallTimerEngine(time: time.base)
            try scheduleHolding(canaries.make(), on: engine)
            #expect(canaries.count == 1)
        }
        #expect(canaries.count == 0)
        var rule = Calendar.RecurrenceRule(calendar: calendar, frequency: .daily, end: .afterOccurrences(2))
        rule.hours = [20]
        let two = try CalendarSchedule(rule, from: date(2026, 3, 28))
        let token = record(two)
        #expect(engine.liveTimers == 1)
        time.advance(by: .seconds(9 * 86_400))
        #expect(fires.count == 2)
        #expect(engine.liveTimers == 0)
        #expect(engine.deadline(of: token) == nil)
        #expect(time.nextDeadline == nil)
        // The schedule has no date any more.
        #expect(engine.deadline(of: record(two)) == nil)
    }

    @Test("whose handler runs past the next dates treats the missed ones by its policy")
    func overrun() throws {
        let minutes = try CalendarSchedule(matching: DateComponents(second: 0), in: berlin)
        let (time, fires) = (time, fires)
        engine.schedule(by: minutes, policy: .mergeToGrid) { fire in
            fires.append("\(shown(fire.deadline).dropFirst(6)) missed \(fire.missedTicks)")
            if fires.count == 1 { time.advance(by: .seconds(150)) }
        }
        time.advance(by: .seconds(300))
        #expect(
            fires.all == ["12:01:00 +1 missed 0", "12:04:00 +1 missed 2", "12:05:00 +1 missed 0"]
        )
    }

    @Test("fires in the order of (deadline, arming) among the engine's other timers")
    func order() throws {
        let fires = fires
        let at = WallInstant(date(2026, 3, 28, 20))
        engine.schedule(at: at) { _ in fires.append("first") }
        engine.schedule(by: try evening()) { _ in fires.append("second") }
        engine.schedule(at: at) { _ in fires.append("third") }
        time.advance(by: .seconds(9 * 3600))
        #expect(fires.all == ["first", "second", "third"])
    }
}
