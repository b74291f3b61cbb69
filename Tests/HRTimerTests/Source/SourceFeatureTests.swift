// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests of a source's features other than its states: spellings, clocks, policies, statistics, strictness. On frozen time.
@Suite struct SourceFeatureTests {
    let time = ManualTime()
    let engine: TimerEngine
    let source: TimerSource
    let calls = Recorder<UInt>()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        source = TimerSource(engine: engine)
        source.setEventHandler { [calls, weak source] in calls.append(source?.data ?? 0) }
    }

    @Test("Deadlines, intervals and leeways accept every spelling of GCD, and ours without a type's name")
    func spellings() {
        source.schedule(deadline: .distantFuture)
        source.schedule(deadline: .now)
        source.schedule(deadline: .now, repeating: .seconds(1), leeway: .milliseconds(1))
        source.schedule(deadline: .now())
        source.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1), leeway: .milliseconds(1))
        source.schedule(deadline: .now() + 1, repeating: 0.5)
        source.schedule(deadline: .now(), repeating: .never)
        source.schedule(wallDeadline: .now() + 1)
        source.schedule(wallDeadline: .now(), repeating: 1)
        source.schedule(wallDeadline: .distantFuture, repeating: .seconds(1), leeway: .seconds(1))
        source.schedule(after: .seconds(1), repeating: .seconds(2))
        source.schedule(deadline: WallInstant.now)
        source.schedule(deadline: BootTimeInstant.distantFuture)
        source.activate()
        #expect(calls.count == 0)
    }

    @Test(
        "An interval of infinity or NaN seconds fires once, where GCD traps",
        arguments: [Double.infinity, -.infinity, .nan]
    )
    func oddSeconds(_ seconds: Double) {
        source.schedule(deadline: DispatchTime(uptimeNanoseconds: 0), repeating: seconds)
        source.activate()
        time.advance(by: .seconds(1_000_000))
        #expect(calls.all == [1])
    }

    @Test("A DispatchTime of zero nanoseconds means now, and the grid begins there")
    func zeroIsNow() {
        time.advance(by: .seconds(100))
        source.schedule(deadline: DispatchTime(uptimeNanoseconds: 0), repeating: .seconds(1))
        source.activate()
        time.advance(by: .milliseconds(2500))
        #expect(calls.all == [1, 1, 1])
    }

    @Test("A DispatchWallTime converts to the WallInstant of the same instant, its distant future to ours")
    func wallTimes() {
        let timespec = hrt_timespec_from_ns(1_700_000_000_000_000_123)
        #expect(WallInstant(DispatchWallTime(timespec: timespec)).nanoseconds == 1_700_000_000_000_000_123)
        #expect(WallInstant(.distantFuture as DispatchWallTime) == .distantFuture)
        let early = WallInstant.now
        #expect(early <= WallInstant(DispatchWallTime.now()))
        #expect(WallInstant(DispatchWallTime.now()) <= .now)
    }

    @Test("A source on the wall clock follows a step of the clock, and `data` has the ticks that the step passed")
    func wallStep() {
        source.schedule(deadline: time.wallNow.advanced(by: .seconds(10)), repeating: .seconds(10))
        source.activate()
        time.advance(by: .seconds(9))
        #expect(calls.count == 0)
        time.setWall(to: time.wallNow.advanced(by: .seconds(22)))
        time.advance(by: .zero)
        #expect(calls.all == [3])
        time.setWall(to: time.wallNow.advanced(by: .seconds(-5)))
        time.advance(by: .seconds(13))
        #expect(calls.all == [3])
        time.advance(by: .seconds(1))
        #expect(calls.all == [3, 1])
        #expect(source.nextDeadline == nil)
    }

    @Test("A source that is rescheduled on the engine's own clock forgets the other clock")
    func backToMonotonic() {
        source.schedule(deadline: time.wallNow.advanced(by: .seconds(10)))
        source.activate()
        source.schedule(deadline: time.now.advanced(by: .seconds(20)))
        time.advance(by: .seconds(15))
        #expect(calls.count == 0)
        #expect(source.nextDeadline == time.now.advanced(by: .seconds(5)))
        time.advance(by: .seconds(5))
        #expect(calls.all == [1])
        #expect(source.nextDeadline == nil)
    }

    @Test("A source on the wall clock is suspended, resumed and cancelled like any other")
    func wallVerbs() {
        source.schedule(deadline: time.wallNow.advanced(by: .seconds(1)), repeating: .seconds(1))
        source.activate()
        time.advance(by: .milliseconds(3500))
        source.suspend()
        #expect(time.nextDeadline == nil)
        time.advance(by: .seconds(3))
        source.resume()
        time.advance(by: .zero)
        time.advance(by: .seconds(3))
        #expect(calls.all == [1, 1, 1, 3, 1, 1, 1])
        source.cancel()
        time.advance(by: .seconds(10))
        #expect(calls.count == 7)
        #expect(time.nextDeadline == nil)
    }

    @Test("Each source has its own policy for missed ticks", arguments: MissedTickPolicy.allCases)
    func policies(_ policy: MissedTickPolicy) {
        let expected: [MissedTickPolicy: [UInt]] = [
            .merge: [1, 3, 1], .mergeToGrid: [1, 3, 1], .burst: [1, 1, 1, 1, 1], .skip: [1, 4], .delay: [1, 1, 1],
        ]
        source.policy = policy
        #expect(source.policy == policy)
        source.schedule(deadline: time.now.advanced(by: .seconds(1)), repeating: .seconds(1))
        source.activate()
        time.advance(by: .milliseconds(1500))
        source.suspend()
        time.advance(by: .seconds(3))
        source.resume()
        time.advance(by: .zero)
        time.advance(by: .milliseconds(policy == .delay ? 1000 : 500))
        #expect(calls.all == expected[policy])
        source.cancel()
        #expect(source.policy == .merge)
        source.policy = policy
        #expect(source.policy == .merge)
    }

    @Test("A registration handler is called once, when the source becomes active and before the first event")
    func registration() {
        let order = Recorder<String>()
        source.setEventHandler { order.append("event") }
        source.setRegistrationHandler { order.append("registered") }
        source.schedule(deadline: time.now, repeating: .seconds(2))
        time.advance(by: .seconds(1))
        #expect(order.count == 0)
        source.activate()
        source.suspend()
        source.resume()
        time.advance(by: .zero)
        #expect(order.all == ["registered", "event"])
        time.advance(by: .seconds(1))
        #expect(order.all == ["registered", "event", "event"])
    }

    @Test("A source cancelled before its registration calls its cancel handler, but no registration handler")
    func cancelledBeforeRegistration() {
        let order = Recorder<String>()
        source.setRegistrationHandler { order.append("registered") }
        source.setCancelHandler { order.append("cancelled") }
        source.activate()
        source.cancel()
        time.advance(by: .seconds(1))
        #expect(order.all == ["cancelled"])
    }

    @Test("On a coalescing engine sources share their leeway, but strict ones do not", arguments: [false, true])
    func strictness(isStrict: Bool) throws {
        let engine = try TimerEngine(.init(precision: .coalesced, time: time.base))
        let sources = (0..<10).map { index in
            let source = isStrict ? TimerSource(flags: .strict, engine: engine) : TimerSource(engine: engine)
            source.setEventHandler { [calls] in calls.append(UInt(index)) }
            source.schedule(deadline: time.now.advanced(by: .milliseconds(100 + index)), leeway: .milliseconds(20))
            source.activate()
            return source
        }
        time.advance(by: .milliseconds(150))
        #expect(calls.count == 10)
        #expect(engine.statistics.wakeupsSaved == (isStrict ? 0 : 9))
        sources.forEach { $0.cancel() }
    }

    @Test("Work scheduled on a queue runs at its deadline, and cancelled work is freed at once")
    func workOnQueue() {
        let queue = DispatchQueue(label: "work")
        let canaries = Canaries()
        engine.schedule(after: .seconds(1), on: queue) { [calls] in calls.append(1) }
        let token = engine.schedule(at: time.now.advanced(by: .seconds(2)), on: queue) { [canary = canaries.make()] in
            withExtendedLifetime(canary) {}
        }
        #expect(canaries.count == 1)
        #expect(engine.cancel(token))
        #expect(canaries.count == 0)
        #expect(engine.liveTimers == 2)
        time.advance(by: .seconds(3))
        queue.sync {}
        #expect(calls.all == [1])
    }

    @Test("The target of a running source can be changed, and applies from the next call on")
    func targets() {
        let queue = DispatchQueue(label: "target")
        let key = DispatchSpecificKey<Int>()
        queue.setSpecific(key: key, value: 1)
        let places = Recorder<Int?>()
        source.setEventHandler { places.append(DispatchQueue.getSpecific(key: key)) }
        source.schedule(deadline: time.now.advanced(by: .seconds(1)), repeating: .seconds(1))
        source.activate()
        time.advance(by: .seconds(1))
        source.setTarget(queue: queue)
        for _ in 0..<2 {
            time.advance(by: .seconds(1))
            queue.sync {}
        }
        source.setTarget(queue: nil)
        time.advance(by: .seconds(1))
        #expect(places.all == [nil, 1, 1, nil])
    }

    @Test("A source of a loop fires in that loop's passes, in the source's modes")
    func onLoop() {
        let loop = TimerLoop(time: time.base)
        let source = TimerSource(engine: engine, loop: loop, modes: [.init("special")])
        source.setEventHandler { [calls] in calls.append(5) }
        source.schedule(deadline: time.now.advanced(by: .seconds(1)))
        source.activate()
        time.advance(by: .seconds(1))
        #expect(calls.count == 0)
        Self.run(loop, .default)
        #expect(calls.count == 0)
        Self.run(loop, .init("special"))
        #expect(calls.all == [5])
    }

    private static func run(_ loop: TimerLoop, _ mode: TimerLoop.Mode) {
        _ = loop.run(mode: mode, before: loop.now)
    }
}
