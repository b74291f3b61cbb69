// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import TestSupport
import TestTraits
import Testing

/// One wake-up of an engine: which timers it calls, in which order, and with which counts. The sizes lie on both sides of 64, the
/// number of timers that an engine takes out of its queue at a time.
@Suite struct EngineTurnTests {
    let time = ManualTime(start: MonotonicInstant(nanoseconds: 0))
    let engine: TimerEngine
    let order = Recorder<Int>()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
    }

    private func at(_ ns: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: ns) }

    @Test(
        "Any number of due timers fire in order; timers that handlers arm for the past follow, in order of arming",
        arguments: [1, 63, 64, 65, 200]
    )
    func order(count: Int) {
        let (engine, order) = (engine, order)
        for index in 1...count {
            engine.schedule(at: at(Int64(index) * 10)) { fire in
                order.append(index * 10)
                engine.schedule(at: fire.deadline.advanced(by: .nanoseconds(5))) { _ in order.append(index * 10 + 5) }
            }
        }
        // A handler that runs for long: all timers are due when it returns.
        let time = self.time
        engine.schedule(at: at(0)) { _ in time.advance(to: MonotonicInstant(nanoseconds: 1_000_000)) }
        time.advance(to: at(1_000_000))
        #expect(order.all == (1...count).map { $0 * 10 } + (1...count).map { $0 * 10 + 5 })
    }

    @Test(
        "A timer that a handler arms for an instant between two later deadlines fires between them",
        arguments: [1, 200]
    )
    func between(count: Int) {
        let (engine, order, time) = (engine, order, time)
        for index in 1...count {
            engine.schedule(at: at(Int64(index) * 10)) { fire in
                order.append(index * 10)
                engine.schedule(at: fire.deadline.advanced(by: .nanoseconds(5))) { _ in order.append(index * 10 + 5) }
            }
        }
        time.advance(to: at(1_000_000))
        #expect(order.all == (1...count).flatMap { [$0 * 10, $0 * 10 + 5] })
    }

    @Test("Timers that re-arm themselves for the past do not starve others", arguments: [1, 63, 64, 65, 130])
    func nothingStarves(count: Int) {
        let (engine, order) = (engine, order)
        let calls = Recorder<Int>()
        for _ in 0..<count {
            engine.schedule(at: at(10)) { fire in
                calls.append(0)
                if calls.count < 1000 { engine.reschedule(fire.token, at: fire.deadline) }
            }
        }
        engine.schedule(at: at(20)) { _ in order.append(calls.count) }
        time.advance(to: at(20))
        #expect(order.all == [calls.count])
        #expect(calls.count == 1000 + count - 1)
    }

    @Test("Among due timers, those that re-arm themselves for the past come last", arguments: [64, 65])
    func pastIsPutOff(count: Int) {
        let (engine, order, time) = (engine, order, time)
        engine.schedule(at: at(5)) { _ in time.advance(to: MonotonicInstant(nanoseconds: 100)) }
        for index in 0..<count {
            engine.schedule(at: at(10)) { fire in
                order.append(index)
                if order.count <= count { engine.reschedule(fire.token, at: MonotonicInstant(nanoseconds: 1)) }
            }
        }
        engine.schedule(at: at(20)) { _ in order.append(-1) }
        time.advance(to: at(5))
        #expect(order.all == Array(0..<count) + [-1] + Array(0..<count))
    }

    @Test("A timer re-armed for the past, then moved by another handler, fires once more, for the last deadline")
    func movedWhilePutOff() {
        let (engine, time) = (engine, time)
        let fires = Recorder<Int64>()
        let moved = Recorder<TimerToken>()
        engine.schedule(at: at(5)) { _ in time.advance(to: MonotonicInstant(nanoseconds: 100)) }
        moved.append(
            engine.schedule(at: at(10)) { fire in
                fires.append(fire.deadline.nanoseconds)
                if fires.count == 1 { engine.reschedule(fire.token, at: MonotonicInstant(nanoseconds: 1)) }
            }
        )
        engine.schedule(at: at(20)) { _ in engine.reschedule(moved.all[0], at: MonotonicInstant(nanoseconds: 2)) }
        time.advance(to: at(200))
        #expect(fires.all == [10, 2])
    }

    @Test("Missed ticks and lateness are measured when the call is made, not when the engine woke")
    func clockOfTheCall() {
        let (engine, time) = (engine, time)
        let fires = Recorder<TimerFire>()
        engine.schedule(at: at(1000)) { _ in time.advance(by: .nanoseconds(450)) }
        engine.schedule(at: at(1000), every: .nanoseconds(100), handler: fires.append)
        time.advance(to: at(1500))
        #expect(fires.all.map(\.deadline.nanoseconds) == [1000, 1500])
        #expect(fires.all.map(\.missedTicks) == [4, 0])
        #expect(fires.all.map(\.lateness) == [.nanoseconds(450), .zero])
    }

    @Test("A tolerance counts for at most half the interval")
    func toleranceIsCapped() throws {
        let engine = try TimerEngine(.init(precision: .coalesced, time: time.base))
        let fires = Recorder<TimerFire>()
        engine.schedule(at: at(100), every: .nanoseconds(100), tolerance: .seconds(1), handler: fires.append)
        time.advance(to: at(1000))
        #expect(fires.all.map(\.firedAt.nanoseconds) == (1...9).map { $0 * 100 + 50 })
    }

    @Test("A handler that always overruns its interval does not keep advance from returning", .hangLimit)
    func overrunning() {
        let (engine, time) = (engine, time)
        let fires = Recorder<TimerFire>()
        engine.schedule(at: at(100), every: .nanoseconds(100)) { fire in
            fires.append(fire)
            time.advance(by: .nanoseconds(250))
        }
        time.advance(to: at(1000))
        #expect(fires.count <= 6)
        #expect(time.now >= at(1000))
        #expect(fires.all.reduce(0) { $0 + 1 + $1.missedTicks } >= 9)
    }

    @Test("A one-shot timer can no longer be cancelled in its own handler, unless the handler armed it again")
    func cancelInOwnHandler() {
        let engine = self.engine
        let answers = Recorder<Bool>()
        engine.schedule(at: at(10)) { fire in answers.append(engine.cancel(fire.token)) }
        engine.schedule(at: at(20)) { fire in
            engine.reschedule(fire.token, at: MonotonicInstant(nanoseconds: 30))
            answers.append(engine.cancel(fire.token))
        }
        time.advance(to: at(100))
        #expect(answers.all == [false, true])
        #expect(engine.liveTimers == 0)
    }

    @Test("A token of another engine has no effect")
    func foreignToken() throws {
        let other = try TimerEngine(.init(time: time.base))
        let mine = engine.schedule(at: at(10)) { [order] _ in order.append(1) }
        let foreign = other.schedule(at: at(10)) { [order] _ in order.append(2) }
        #expect(mine.slot == foreign.slot && mine.generation == foreign.generation)
        #expect(!engine.cancel(foreign) && !engine.cancelAndWait(foreign))
        #expect(!engine.reschedule(foreign, at: at(5)))
        time.advance(to: at(10))
        #expect(order.all == [1, 2], "at equal deadlines the engine that was made first comes first")
    }

    @Test(
        "What a handler arms for the past comes after what is due at the handler's own deadline, in every precision",
        arguments: TimerPrecision.allCases
    )
    func armedForThePast(_ precision: TimerPrecision) throws {
        let time = ManualTime()
        let engine = try TimerEngine(.init(precision: precision, time: time.base))
        let calls = Recorder<String>()
        for _ in 1...3 {
            // Made anew: a timer that fires once is gone after its call.
            let moved = engine.schedule(at: .distantFuture) { _ in calls.append("moved") }
            let deadline = time.now.advanced(by: .milliseconds(10))
            engine.schedule(at: deadline) { _ in
                calls.append("first")
                engine.schedule(at: .distantPast) { _ in calls.append("long ago") }
                engine.schedule(at: deadline.advanced(by: .nanoseconds(-1))) { _ in calls.append("just before") }
                engine.reschedule(moved, at: .distantPast)
                engine.schedule(at: deadline) { _ in calls.append("now") }
            }
            engine.schedule(at: deadline) { _ in calls.append("second") }
            engine.schedule(at: deadline) { _ in calls.append("third") }
            time.advance(by: .milliseconds(20))
            #expect(calls.all == ["first", "second", "third", "long ago", "just before", "moved", "now"])
            calls.removeAll()
        }
        engine.shutdown()
    }
}
