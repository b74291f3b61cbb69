// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import TestSupport
import Testing

/// An engine's statistics, with exact counts. On frozen time.
@Suite struct EngineStatisticsTests {
    let time = ManualTime(start: MonotonicInstant(nanoseconds: 0))

    private func at(_ ns: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: ns) }

    @Test(
        "Under each policy the count of missed ticks is the sum that calls report, each tick once",
        arguments: MissedTickPolicy.allCases
    )
    func missedTicks(_ policy: MissedTickPolicy) throws {
        let missed: UInt64 =
            switch policy {
            case .merge: 3
            case .mergeToGrid: 4
            case .burst, .delay: 0
            case .skip: 5
            }
        let engine = try TimerEngine(.init(time: time.base))
        let fires = Recorder<TimerFire>()
        let time = self.time
        engine.schedule(at: at(100), every: .nanoseconds(100), policy: policy) { fire in
            fires.append(fire)
            // This handler overruns once, until 350. Later another handler keeps the thread from 650 to 950.
            if fires.count == 1 { time.advance(by: .nanoseconds(250)) }
        }
        engine.schedule(at: at(650)) { _ in time.advance(by: .nanoseconds(300)) }
        time.advance(to: at(1500))
        #expect(engine.statistics.missedTicks == UInt64(fires.all.reduce(0) { $0 + $1.missedTicks }))
        #expect(engine.statistics.missedTicks == missed)
        #expect(engine.statistics.fires == UInt64(fires.count) + 1)
    }

    @Test(
        "A late call's deadline is the first tick that it was late for, and ticks that were left out before are counted too",
        arguments: MissedTickPolicy.allCases
    )
    func deadlines(_ policy: MissedTickPolicy) throws {
        let expected: [[Int64]] =
            switch policy {
            case .merge: [[100, 0], [200, 1], [400, 0], [500, 0], [600, 0], [700, 2], [1000, 0]]
            case .mergeToGrid: [[100, 0], [400, 2], [500, 0], [600, 0], [700, 2], [1000, 0]]
            case .burst: [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000].map { [$0, 0] }
            case .skip: [[100, 0], [400, 2], [500, 0], [600, 0], [1000, 3]]
            case .delay: [[100, 0], [450, 0], [550, 0], [650, 0]]
            }
        let engine = try TimerEngine(.init(time: time.base))
        let calls = Recorder<[Int64]>()
        let time = self.time
        engine.schedule(at: at(100), every: .nanoseconds(100), policy: policy) { fire in
            calls.append([fire.deadline.nanoseconds, Int64(fire.missedTicks)])
            // It overruns once, until 350. Later another handler keeps the thread from 650 to 950.
            if calls.count == 1 { time.advance(by: .nanoseconds(250)) }
        }
        engine.schedule(at: at(650)) { _ in time.advance(by: .nanoseconds(300)) }
        time.advance(to: at(1000))
        #expect(calls.all == expected)
    }

    @Test("Ticks that a policy leaves out are counted at once, before a call reports them")
    func leftOut() throws {
        let engine = try TimerEngine(.init(time: time.base))
        let time = self.time
        engine.schedule(at: at(50)) { _ in time.advance(by: .nanoseconds(500)) }
        engine.schedule(at: at(100), every: .nanoseconds(100), policy: .skip) { _ in }
        time.advance(to: at(550))
        #expect(engine.statistics.missedTicks == 5)
        time.advance(to: at(600))
        #expect(engine.statistics.missedTicks == 5)
    }

    @Test("A timer armed for the past is late only from its arming, even if the clock has passed a disarmed deadline")
    func lateFromArming() throws {
        let engine = try TimerEngine(.init(time: time.base))
        engine.schedule(at: at(50)) { _ in }
        let disarmed = engine.schedule(at: at(100)) { _ in }
        time.advance(to: at(50))
        engine.cancel(disarmed)
        time.advance(to: at(1000))
        let timers = [150, 900, 1000].map { deadline in engine.schedule(at: at(deadline)) { _ in } }
        time.advance(to: at(1000))
        #expect(engine.statistics.fires == 4 && timers.count == 3)
        #expect(engine.lateness.max == .zero)
    }

    @Test("Each wake-up that finds nothing due counts as spurious, and no other does")
    func spurious() throws {
        let engine = try TimerEngine(.init(time: time.base))
        engine.schedule(at: at(100)) { _ in }
        engine.core.runDue()
        #expect(engine.statistics.spuriousWakeups == 1)
        time.advance(to: at(100))
        #expect(engine.statistics.wakeups == 2 && engine.statistics.spuriousWakeups == 1)
        engine.core.runDue()
        engine.core.runDue()
        #expect(engine.statistics.wakeups == 4 && engine.statistics.spuriousWakeups == 3)
    }

    @Test(
        "A wake-up counts the further deadlines that it serves as wake-ups saved, where tolerances count",
        arguments: zip(TimerPrecision.allCases, [2, 0, 0])
    )
    func saved(_ precision: TimerPrecision, _ saved: UInt64) throws {
        let engine = try TimerEngine(.init(precision: precision, time: time.base))
        for start_ns: Int64 in [1000, 2000] {
            for after_ns: Int64 in [0, 0, 50] {
                engine.schedule(at: at(start_ns + after_ns), tolerance: .nanoseconds(100)) { _ in }
            }
        }
        time.advance(to: at(3000))
        #expect(engine.statistics.wakeupsSaved == saved)
        // One wake-up serves all late timers on any engine. It counts as a saving only where tolerances count.
        for deadline_ns: Int64 in [5, 6] { engine.schedule(at: at(deadline_ns)) { _ in } }
        time.advance(by: .zero)
        #expect(engine.statistics.wakeupsSaved == (precision == .coalesced ? saved + 1 : 0))
    }
}
