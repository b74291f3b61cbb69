// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests of what Dispatch does with its timer source, member by member and number by number, after libdispatch's src/source.c,
/// src/event/event.c and its Swift overlay; TimerSourceTests and SourceFeatureTests show the rest. On frozen time.
@Suite struct SourceRowTests {
    let time = ManualTime()
    let engine: TimerEngine
    let source: TimerSource
    let calls = Recorder<UInt>()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        source = TimerSource(engine: engine)
        source.setEventHandler { [calls, weak source] in calls.append(source?.data ?? 0) }
    }

    private func every(_ interval: Duration, after first: Duration = .seconds(1)) {
        source.schedule(deadline: time.now.advanced(by: first), repeating: interval)
        source.activate()
    }

    private var dispatchNow: DispatchTime { DispatchTime(uptimeNanoseconds: UInt64(time.now.nanoseconds)) }

    private var dispatchWallNow: DispatchWallTime {
        DispatchWallTime(timespec: hrt_timespec_from_ns(time.wallNow.nanoseconds))
    }

    // Members.

    @Test("Until activate() or resume() nothing runs and nothing is armed, whatever is set")
    func madeInactive() {
        source.schedule(deadline: time.now, repeating: .seconds(1))
        source.setCancelHandler {}
        source.setRegistrationHandler { [calls] in calls.append(99) }
        #expect(time.nextDeadline == nil)
        time.advance(by: .seconds(5))
        #expect(calls.count == 0)
        source.setEventHandler(handler: nil)
    }

    @Test("Intervals of DispatchTimeInterval and of seconds make the same grid")
    func intervals() {
        source.schedule(deadline: dispatchNow + .seconds(1), repeating: .milliseconds(250))
        source.activate()
        time.advance(by: .seconds(2))
        #expect(calls.all == [1, 1, 1, 1, 1])
        calls.removeAll()
        source.schedule(deadline: dispatchNow + 1, repeating: 0.25)
        time.advance(by: .seconds(2))
        #expect(calls.all == [1, 1, 1, 1, 1])
    }

    @Test("A wall deadline follows steps of the clock in both spellings")
    func wallDeadlines() {
        source.schedule(wallDeadline: dispatchWallNow + .seconds(10), repeating: .seconds(10))
        source.activate()
        time.setWall(to: time.wallNow.advanced(by: .seconds(10)))
        #expect(calls.all == [1])
        source.schedule(wallDeadline: dispatchWallNow + 7, repeating: 4)
        time.setWall(to: time.wallNow.advanced(by: .seconds(-10)))
        time.advance(by: .seconds(16))
        #expect(calls.all == [1])
        time.advance(by: .seconds(1))
        #expect(calls.all == [1, 1])
        time.advance(by: .seconds(4))
        #expect(calls.all == [1, 1, 1])
    }

    @Test(
        "The event handler may be changed or removed at any time; later calls report no tick that passed without one"
    )
    func handlerChanges() {
        every(.seconds(1))
        time.advance(by: .seconds(1))
        source.setEventHandler { [calls] in calls.append(7) }
        time.advance(by: .seconds(1))
        source.setEventHandler(handler: nil)
        time.advance(by: .seconds(3))
        source.setEventHandler { [calls, weak source] in calls.append(source?.data ?? 0) }
        time.advance(by: .seconds(1))
        #expect(calls.all == [1, 7, 1])
    }

    @Test(
        "A source without an event handler waits for one deadline only; a handler set later is called at the next tick",
        arguments: MissedTickPolicy.allCases
    )
    func handlerSetLater(_ policy: MissedTickPolicy) {
        source.setEventHandler(handler: nil)
        source.policy = policy
        let first = time.now.advanced(by: .milliseconds(1))
        source.schedule(deadline: first, repeating: .milliseconds(1))
        source.activate()
        #expect(source.nextDeadline == first)
        time.advance(by: .microseconds(10_500))
        #expect(engine.statistics.wakeups == 1 && time.nextDeadline == nil)
        #expect(source.nextDeadline == first.advanced(by: .milliseconds(10)))
        source.setEventHandler { [calls, weak source] in calls.append(source?.data ?? 0) }
        time.advance(by: .microseconds(500))
        #expect(calls.all == [1])
        source.setEventHandler(handler: nil)
        time.advance(by: .milliseconds(5))
        #expect(calls.all == [1])
        source.setEventHandler { [calls, weak source] in calls.append(source?.data ?? 0) }
        time.advance(by: .milliseconds(1))
        #expect(calls.all == [1, 1])
    }

    @Test("A one-shot deadline that passes without an event handler is lost; one that has not passed is kept")
    func onceWithoutHandler() {
        source.setEventHandler(handler: nil)
        source.schedule(deadline: time.now.advanced(by: .seconds(1)))
        source.activate()
        time.advance(by: .seconds(2))
        source.setEventHandler { [calls] in calls.append(1) }
        time.advance(by: .seconds(2))
        #expect(calls.count == 0 && source.nextDeadline == nil)
        source.setEventHandler(handler: nil)
        source.schedule(deadline: time.now.advanced(by: .seconds(1)))
        source.setEventHandler { [calls] in calls.append(2) }
        time.advance(by: .seconds(2))
        #expect(calls.all == [2])
    }

    @Test("A deadline on another clock does not come again and again without an event handler")
    func wallWithoutHandler() {
        source.setEventHandler(handler: nil)
        source.schedule(deadline: time.wallNow.advanced(by: .seconds(1)), repeating: .seconds(1))
        source.activate()
        time.advance(by: .milliseconds(3500))
        #expect(time.nextDeadline == nil)
        source.setEventHandler { [calls, weak source] in calls.append(source?.data ?? 0) }
        time.advance(by: .milliseconds(1500))
        #expect(calls.all == [1, 1])
    }

    @Test("A registration handler set after activation is not called")
    func lateRegistration() {
        every(.seconds(1))
        source.setRegistrationHandler { [calls] in calls.append(99) }
        time.advance(by: .seconds(2))
        #expect(calls.all == [1, 1])
    }

    @Test("The cancel handler runs once, on the source's thread, and all handlers are freed afterwards")
    func cancelHandler() {
        let canaries = Canaries()
        source.setEventHandler { [canary = canaries.make()] in withExtendedLifetime(canary) {} }
        source.setRegistrationHandler { [canary = canaries.make()] in withExtendedLifetime(canary) {} }
        source.setCancelHandler { [calls, canary = canaries.make()] in withExtendedLifetime(canary) { calls.append(3) }
        }
        #expect(canaries.count == 3)
        source.cancel()
        source.cancel()
        time.advance(by: .seconds(1))
        #expect(calls.all == [3])
        #expect(canaries.count == 0)
    }

    @Test("A source suspended in its handler ends the running call as usual; the next call waits for resume")
    func suspendInHandler() {
        source.setEventHandler { [calls, weak source] in
            source?.suspend()
            calls.append(source?.data ?? 0)
        }
        every(.seconds(1))
        time.advance(by: .seconds(3))
        #expect(calls.all == [1])
        source.resume()
        time.advance(by: .zero)
        #expect(calls.all == [1, 2])
    }

    @Test("A source cancelled with pending ticks delivers none of them, and isCancelled is true at once")
    func cancelPending() {
        every(.seconds(1))
        source.suspend()
        time.advance(by: .seconds(5))
        #expect(!source.isCancelled)
        source.cancel()
        #expect(source.isCancelled)
        source.resume()
        time.advance(by: .seconds(5))
        #expect(calls.count == 0 && source.data == 0)
    }

    @Test("A source cancelled while suspended still calls its cancel handler; GCD waits for the resume")
    func cancelSuspended() {
        source.setCancelHandler { [calls] in calls.append(3) }
        every(.seconds(1))
        source.suspend()
        source.suspend()
        source.cancel()
        time.advance(by: .zero)
        #expect(calls.all == [3])
        source.resume()
        source.resume()
        time.advance(by: .seconds(5))
        #expect(calls.all == [3])
    }

    // Numbers.

    @Test("An interval of 2^63 ns, or any other that no clock reaches, fires once (timer_bit63)", arguments: [0, 1, 2])
    func hugeIntervals(_ spelling: Int) {
        switch spelling {
        case 0: source.schedule(deadline: dispatchNow, repeating: .nanoseconds(.max))
        case 1: source.schedule(deadline: time.now, repeating: .seconds(Int64.max))
        default: source.schedule(deadline: dispatchNow, repeating: 1e19)
        }
        source.activate()
        time.advance(by: .seconds(3_000_000_000))
        #expect(calls.all == [1])
    }

    @Test("A deadline of 2^62 ns and later never comes (timer_bit31, huge_timeout)")
    func hugeDeadlines() {
        for deadline in [UInt64(1) << 62, UInt64(1) << 63, .max] {
            source.schedule(deadline: DispatchTime(uptimeNanoseconds: deadline))
            source.activate()
            time.advance(by: .seconds(100_000_000))
        }
        #expect(calls.count == 0)
        source.schedule(deadline: .distantFuture)
        #expect(source.nextDeadline == nil && time.nextDeadline == nil)
    }

    @Test("A DispatchTime plus infinity never comes; plus NaN or minus infinity it is past")
    func oddDispatchTimes() {
        source.activate()
        source.schedule(deadline: dispatchNow + .infinity)
        time.advance(by: .seconds(1000))
        #expect(calls.count == 0)
        source.schedule(deadline: dispatchNow + -.infinity)
        time.advance(by: .zero)
        #expect(calls.all == [1])
    }

    @Test("Any leeway, .never too, is limited to half the interval; without an interval it may have any length")
    func leeways() throws {
        let engine = try TimerEngine(.init(precision: .coalesced, time: time.base))
        let source = TimerSource(engine: engine)
        source.setEventHandler { [calls, time] in calls.append(UInt(time.now.nanoseconds / 1_000_000) - 10_000) }
        source.schedule(deadline: dispatchNow + .seconds(1), repeating: .seconds(1), leeway: .never)
        source.activate()
        time.advance(by: .milliseconds(2600))
        #expect(calls.all == [1500, 2500])
        source.cancel()
    }

    // Firing.

    @Test("On a concurrent queue calls of one source never overlap, and report all ticks")
    func concurrentQueue() {
        let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
        let source = TimerSource(engine: engine, queue: queue)
        let running = Recorder<Int>()
        let (mayReturn, isRunning) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        source.setEventHandler { [calls, weak source] in
            running.append(1)
            isRunning.signal()
            mayReturn.wait()
            calls.append(source?.data ?? 0)
        }
        source.schedule(deadline: time.now.advanced(by: .seconds(1)), repeating: .seconds(1))
        source.activate()
        time.advance(by: .seconds(1))
        isRunning.wait()
        time.advance(by: .seconds(4))
        #expect(running.count == 1)
        source.cancel()
        mayReturn.signal()
        queue.sync(flags: .barrier) {}
        #expect(calls.all == [1])
    }

    @Test(
        "A source rescheduled while suspended drops the old schedule's pending ticks, and its clock too"
    )
    func scheduleDropsPending() {
        source.schedule(deadline: time.wallNow.advanced(by: .seconds(1)), repeating: .seconds(1))
        source.activate()
        source.suspend()
        time.advance(by: .seconds(5))
        source.schedule(deadline: time.now.advanced(by: .seconds(2)), repeating: .seconds(2))
        source.resume()
        time.advance(by: .zero)
        #expect(calls.count == 0)
        time.setWall(to: time.wallNow.advanced(by: .seconds(100)))
        #expect(calls.count == 0)
        time.advance(by: .seconds(4))
        #expect(calls.all == [1, 1])
    }

    @Test("With leeway a call is never before its deadline nor after deadline plus leeway, and the grid does not move")
    func leewayBounds() throws {
        let engine = try TimerEngine(.init(precision: .coalesced, time: time.base))
        let begin_ns = time.now.nanoseconds
        let late = Recorder<Int64>()
        let sources = (0..<50).map { index in
            let source = TimerSource(engine: engine)
            let first_ns = begin_ns + 100_000_000 + Int64(index) * 137_000
            source.setEventHandler { [time] in late.append((time.now.nanoseconds - first_ns) % 10_000_000) }
            source.schedule(
                deadline: MonotonicInstant(nanoseconds: first_ns),
                repeating: .milliseconds(10),
                leeway: .milliseconds(1)
            )
            source.activate()
            return source
        }
        time.advance(by: .milliseconds(1050))
        // Each source has about 95 ticks in that time, and no call stands for more than one.
        #expect(late.count >= 50 * 94)
        #expect(late.all.allSatisfy { (0...1_000_000).contains($0) })
        #expect(late.all.contains { $0 > 0 })
        sources.forEach { $0.cancel() }
    }

    @Test(
        "A source set to normal or precise leaves its leeway unused until that setting is removed",
        arguments: [0, 1, 2]
    )
    func precision(_ number: Int) throws {
        let precision: TimerPrecision? = [nil, .normal, .precise][number]
        let engine = try TimerEngine(.init(precision: .coalesced, time: time.base))
        let sources = (0..<10).map { index in
            let source = TimerSource(engine: engine)
            #expect(source.precision == nil)
            source.precision = precision
            #expect(source.precision == precision)
            source.setEventHandler {}
            source.schedule(
                deadline: time.now.advanced(by: .milliseconds(100 + index)),
                repeating: .milliseconds(100),
                leeway: .milliseconds(20)
            )
            source.activate()
            return source
        }
        time.advance(by: .milliseconds(150))
        #expect(engine.statistics.fires == 10)
        #expect(engine.statistics.wakeupsSaved == (precision == nil ? 9 : 0))
        for source in sources { source.precision = nil }
        time.advance(by: .milliseconds(100))
        #expect(engine.statistics.fires == 20)
        #expect(engine.statistics.wakeupsSaved == (precision == nil ? 18 : 9))
        sources.forEach { $0.cancel() }
    }

    // asyncAfter.

    @Test("Work for a past instant runs at once, for the distant future never, and its closure is freed with its token")
    func asyncAfter() {
        let queue = DispatchQueue(label: "after")
        let canaries = Canaries()
        engine.schedule(at: .distantPast, on: queue) { [calls] in calls.append(1) }
        engine.schedule(after: .seconds(1), on: queue) { [calls] in calls.append(2) }
        let never = engine.schedule(at: .distantFuture, on: queue) { [calls, canary = canaries.make()] in
            withExtendedLifetime(canary) { calls.append(3) }
        }
        time.advance(by: .milliseconds(999))
        queue.sync {}
        #expect(calls.all == [1])
        time.advance(by: .seconds(1_000_000))
        queue.sync {}
        #expect(calls.all == [1, 2])
        #expect(engine.cancel(never))
        #expect(canaries.count == 0)
    }
}
