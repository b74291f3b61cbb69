// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import TestSupport
import TestTraits
import Testing

/// Semantics of the engine, with exact instants and counts. On frozen time.
@Suite struct TimerEngineTests {
    let time = ManualTime(start: MonotonicInstant(nanoseconds: 1000))
    let engine: TimerEngine
    let fires = Recorder<TimerFire>()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
    }

    private func at(_ ns: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: ns) }
    private func advance(to ns: Int64) { time.advance(to: at(ns)) }

    @Test("A one-shot timer fires once, at its deadline and not a nanosecond before")
    func oneShot() {
        engine.schedule(at: at(1500), handler: fires.append)
        advance(to: 1499)
        #expect(fires.count == 0)
        advance(to: 1500)
        #expect(fires.all.map(\.deadline) == [at(1500)])
        #expect(fires.all.map(\.lateness) == [.zero])
        advance(to: 100_000)
        #expect(fires.count == 1)
        #expect(engine.liveTimers == 0)
    }

    @Test("In its last call a timer is no longer live, unless its handler arms it again")
    func liveInItsHandler() {
        let live = Recorder<Int>()
        engine.schedule(at: at(1100)) { [engine] _ in live.append(engine.liveTimers) }
        engine.schedule(at: at(1200)) { [engine] fire in
            #expect(engine.reschedule(fire.token, at: .distantFuture))
            live.append(engine.liveTimers)
        }
        engine.schedule(at: at(1300), every: .seconds(1)) { [engine] _ in live.append(engine.liveTimers) }
        advance(to: 1300)
        #expect(live.all == [2, 2, 2])
    }

    @Test("A past deadline means now")
    func past() {
        engine.schedule(at: .distantPast, handler: fires.append)
        advance(to: 1000)
        #expect(fires.count == 1)
    }

    @Test("A deadline in the distant future never fires, and can be moved nearer")
    func distantFuture() {
        let token = engine.schedule(at: .distantFuture, handler: fires.append)
        advance(to: .max - 1)
        #expect(fires.count == 0)
        #expect(engine.liveTimers == 1)
        #expect(engine.reschedule(token, at: time.now))
        time.advance(by: .zero)
        #expect(fires.count == 1)
    }

    @Test("At the end of time every timer has fired except those for distantFuture", .hangLimit)
    func endOfTime() {
        engine.schedule(at: .distantFuture, handler: fires.append)
        engine.schedule(at: at(.max - 1), handler: fires.append)
        time.advance(to: .distantFuture)
        #expect(fires.all.map(\.deadline) == [at(.max - 1)])
        #expect(engine.liveTimers == 1)
    }

    @Test("Equal deadlines fire in the order of arming; a moved timer comes last")
    func order() {
        let order = Recorder<Int>()
        let tokens = (0..<101).map { index in engine.schedule(at: at(2000)) { _ in order.append(index) } }
        engine.reschedule(tokens[0], at: at(3000))
        engine.reschedule(tokens[0], at: at(2000))
        advance(to: 2000)
        #expect(order.all == Array(1...100) + [0])
    }

    @Test("A repeating timer keeps the grid of its first deadline")
    func grid() {
        engine.schedule(at: at(1100), every: .nanoseconds(100), handler: fires.append)
        advance(to: 1450)
        #expect(fires.all.map(\.deadline) == [at(1100), at(1200), at(1300), at(1400)])
        #expect(engine.liveTimers == 1)
    }

    @Test("Each policy treats five deadlines that pass while a handler runs as documented")
    func policies() throws {
        let time = self.time
        func deadlines(_ policy: MissedTickPolicy) throws -> [String] {
            let engine = try TimerEngine(.init(time: time.base))
            let start = time.now
            let log = Recorder<String>()
            engine.schedule(at: start.advanced(by: .nanoseconds(100)), every: .nanoseconds(100), policy: policy) {
                fire in
                let deadline = start.duration(to: fire.deadline).nanosecondsRoundedUp
                log.append("\(deadline)+\(fire.missedTicks)")
                // The handler of the first call overruns to 650.
                if log.count == 1 { time.advance(to: start.advanced(by: .nanoseconds(650))) }
            }
            time.advance(to: start.advanced(by: .nanoseconds(800)))
            return log.all
        }
        #expect(try deadlines(.merge) == ["100+0", "200+4", "700+0", "800+0"])
        #expect(try deadlines(.burst) == ["100+0", "200+0", "300+0", "400+0", "500+0", "600+0", "700+0", "800+0"])
        #expect(try deadlines(.skip) == ["100+0", "700+5", "800+0"])
        #expect(try deadlines(.delay) == ["100+0", "750+0"])
    }

    @Test("A timer cancelled by an earlier handler of the same instant does not fire")
    func cancelledInTheSameBatch() {
        let cancel = Recorder<TimerToken>()
        engine.schedule(at: at(2000)) { [engine] _ in cancel.all.forEach { engine.cancel($0) } }
        cancel.append(engine.schedule(at: at(2000), handler: fires.append))
        advance(to: 3000)
        #expect(fires.count == 0)
    }

    @Test("A timer moved by an earlier handler of the same instant fires at its new deadline only")
    func movedInTheSameBatch() {
        let move = Recorder<TimerToken>()
        let engine = self.engine
        engine.schedule(at: at(2000)) { _ in
            move.all.forEach { engine.reschedule($0, at: MonotonicInstant(nanoseconds: 2500)) }
        }
        move.append(engine.schedule(at: at(2000), handler: fires.append))
        advance(to: 3000)
        #expect(fires.all.map(\.deadline) == [at(2500)])
    }

    @Test("A repeating timer that cancels itself in its handler fires once", arguments: MissedTickPolicy.allCases)
    func cancelsItself(_ policy: MissedTickPolicy) {
        let engine = self.engine
        let fires = self.fires
        engine.schedule(at: at(1100), every: .nanoseconds(100), policy: policy) { fire in
            fires.append(fire)
            #expect(engine.cancel(fire.token))
            #expect(!engine.cancel(fire.token))
        }
        advance(to: 5000)
        #expect(fires.count == 1)
        #expect(engine.liveTimers == 0)
    }

    @Test("A one-shot timer armed again in its handler fires again")
    func rearmsItself() {
        let engine = self.engine
        let fires = self.fires
        engine.schedule(at: at(1100)) { fire in
            fires.append(fire)
            if fires.count < 3 { engine.reschedule(fire.token, at: fire.deadline.advanced(by: .nanoseconds(50))) }
        }
        advance(to: 5000)
        #expect(fires.all.map(\.deadline) == [at(1100), at(1150), at(1200)])
        #expect(engine.liveTimers == 0)
    }

    @Test("A timer that a handler schedules for the same instant still fires in the same advance")
    func scheduledInHandler() {
        let engine = self.engine
        let fires = self.fires
        engine.schedule(at: at(2000)) { fire in engine.schedule(at: fire.deadline, handler: fires.append) }
        advance(to: 2000)
        #expect(fires.count == 1)
    }

    @Test("A stale token has no effect, even after another timer has taken its slot")
    func staleTokens() {
        let old = engine.schedule(at: at(2000), handler: fires.append)
        #expect(engine.cancel(old))
        let new = engine.schedule(at: at(2000), handler: fires.append)
        #expect(!engine.cancel(old))
        #expect(!engine.reschedule(old, at: at(1500)))
        #expect(new != old)
        advance(to: 2000)
        #expect(fires.all.map(\.deadline) == [at(2000)])
    }

    @Test("Handlers are freed when a timer is cancelled, after its only fire, and at shutdown")
    func freesHandlers() {
        let canaries = Canaries()
        func schedule() -> TimerToken {
            let canary = canaries.make()
            return engine.schedule(at: at(2000)) { _ in withExtendedLifetime(canary) {} }
        }
        let cancelled = schedule()
        engine.cancel(cancelled)
        #expect(canaries.count == 0)
        _ = schedule()
        advance(to: 2000)
        #expect(canaries.count == 0)
        _ = schedule()
        #expect(canaries.count == 1)
        engine.shutdown()
        #expect(canaries.count == 0)
        #expect(engine.liveTimers == 0)
    }

    @Test("Freeing a handler may call back into the engine, also while the engine ends")
    func reentrantFree() {
        final class Canceller: Sendable {
            let engine: TimerEngine
            let token: TimerToken
            init(_ engine: TimerEngine, _ token: TimerToken) { (self.engine, self.token) = (engine, token) }
            deinit { engine.cancel(token) }
        }
        let other = engine.schedule(at: at(2000), handler: fires.append)
        let canceller = Canceller(engine, other)
        let token = engine.schedule(at: at(1500)) { _ in withExtendedLifetime(canceller) {} }
        #expect(engine.liveTimers == 2)
        _ = consume canceller
        engine.cancel(token)
        #expect(engine.liveTimers == 0)
        let last = Canceller(engine, engine.schedule(at: at(2000), handler: fires.append))
        engine.schedule(at: at(1500)) { _ in withExtendedLifetime(last) {} }
        _ = consume last
        engine.shutdown()
        #expect(engine.liveTimers == 0)
    }

    @Test("After shutdown nothing is scheduled, and a second shutdown does nothing")
    func afterShutdown() {
        engine.shutdown()
        engine.shutdown()
        let token = engine.schedule(at: at(1100), handler: fires.append)
        #expect(!engine.cancel(token))
        advance(to: 2000)
        #expect(fires.count == 0)
    }

    @Test("Every interval, deadline and policy is safe")
    func anyValue() {
        for interval in [Duration.zero, .seconds(-1), .seconds(Int64.max), .nanoseconds(1), .seconds(Int64.min)] {
            for deadline in [MonotonicInstant.distantPast, at(0), at(-5), time.now, .distantFuture] {
                for policy in MissedTickPolicy.allCases {
                    let token = engine.schedule(at: deadline, every: interval, policy: policy) { _ in }
                    engine.cancel(token)
                }
            }
            engine.schedule(after: interval) { _ in }
        }
        time.advance(by: .nanoseconds(10))
    }

    @Test("On virtual time an engine has no thread, and so no setting results")
    func settingResults() throws {
        var configuration = TimerEngine.Configuration(time: time.base)
        configuration.realTime.schedulingClass = .fifo(priority: 1000)
        #expect(try TimerEngine(configuration).settingResults == [])
    }

    @Test("Two engines on one virtual clock fire in the order of their deadlines")
    func twoEngines() throws {
        let other = try TimerEngine(.init(time: time.base))
        let order = Recorder<Int>()
        engine.schedule(at: at(2000), every: .nanoseconds(200)) { _ in order.append(1) }
        other.schedule(at: at(2100), every: .nanoseconds(200)) { _ in order.append(2) }
        advance(to: 2600)
        #expect(order.all == [1, 2, 1, 2, 1, 2, 1])
    }
}
