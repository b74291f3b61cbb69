// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import HRTimerTesting
import Seeded
import TestSupport
import Testing

/// What the tests of libdispatch, libevent, libuv and SwiftNIO assert about their timers, applied to sources: each test names its
/// original. On frozen time, with exact counts. The suspend example (dispatch_suspend_timer), order (timer_order) and lifetimes
/// are in TimerSourceTests, races in SourceRaceTests.
@Suite struct SourcePeerTests {
    let time = ManualTime()
    let engine: TimerEngine
    let calls = Recorder<UInt>()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
    }

    /// Returns an active source that records its `data` at each call.
    private func source(_ queue: DispatchQueue? = nil) -> TimerSource {
        let source = TimerSource(flags: [], engine: engine, queue: queue)
        source.setEventHandler { [calls, weak source] in calls.append(source?.data ?? 0) }
        source.activate()
        return source
    }

    @Test(
        "persistent_timeout_jump, no_double_call: after oversleeping several periods a source is called once for all"
    )
    func overslept() {
        let source = source()
        source.schedule(deadline: time.now.advanced(by: .milliseconds(100)), repeating: .milliseconds(100))
        let sleeper = TimerSource(engine: engine)
        sleeper.setEventHandler { [time] in time.advance(by: .milliseconds(300)) }
        sleeper.schedule(deadline: time.now.advanced(by: .milliseconds(50)))
        sleeper.activate()
        time.advance(by: .milliseconds(50))
        #expect(calls.all == [3])
        time.advance(by: .milliseconds(50))
        #expect(calls.all == [3, 1])
        source.cancel()
    }

    @Test(
        "dispatch_drift: ten seconds at 100 Hz are a thousand ticks on the grid, at whatever times the source runs",
        arguments: [1, 2, 3]
    )
    func drift(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let source = source()
        let begin = time.now
        source.schedule(deadline: begin.advanced(by: .milliseconds(10)), repeating: .milliseconds(10))
        while time.now < begin.advanced(by: .seconds(10)) {
            // As if a handler or a thread were late now and then.
            source.suspend()
            time.advance(by: .nanoseconds(Int64.random(in: 0..<30_000_000, using: &random)))
            source.resume()
            time.advance(by: .zero)
        }
        let passed = (time.now.nanoseconds - begin.nanoseconds) / 10_000_000
        #expect(passed >= 1000)
        #expect(calls.all.reduce(0, +) == UInt(passed))
        #expect(source.nextDeadline == begin.advanced(by: .milliseconds(10 * (passed + 1))))
        source.cancel()
    }

    @Test("timer_huge_timeout, timer_huge_repeat: the longest waits do not wrap to short ones")
    func huge() {
        let source = source()
        source.schedule(deadline: .distantFuture, repeating: .seconds(Int64.max))
        source.schedule(after: .seconds(Int64.max), repeating: .seconds(Int64.max))
        time.advance(by: .seconds(200_000_000))
        #expect(calls.count == 0)
        source.schedule(deadline: time.now.advanced(by: .seconds(1)), repeating: .seconds(Int64.max))
        time.advance(by: .seconds(200_000_000))
        #expect(calls.all == [1])
        source.cancel()
    }

    @Test("timer_start_twice, dispatch_timer_set_time: a second schedule replaces the first one, a day away")
    func twice() {
        let source = source()
        source.schedule(deadline: time.now.advanced(by: .seconds(86_400)))
        source.schedule(deadline: time.now.advanced(by: .milliseconds(10)))
        time.advance(by: .seconds(100_000))
        #expect(calls.all == [1])
        source.cancel()
    }

    @Test(
        "dispatch_timer_timeout: a tiny timer on a blocked queue delays no other timer, and costs one fire meanwhile"
    )
    func blockedQueue() {
        let queue = DispatchQueue(label: "blocked")
        let tiny = source(queue)
        let other = TimerSource(engine: engine)
        let ticks = Recorder<UInt>()
        other.setEventHandler { [weak other] in ticks.append(other?.data ?? 0) }
        other.schedule(deadline: time.now.advanced(by: .milliseconds(1)), repeating: .milliseconds(1))
        other.activate()
        queue.suspend()
        tiny.schedule(deadline: time.now.advanced(by: .microseconds(1)), repeating: .microseconds(1))
        time.advance(by: .milliseconds(100))
        #expect(ticks.count == 100 && ticks.all.allSatisfy { $0 == 1 })
        #expect(engine.statistics.fires == 101)
        queue.resume()
        queue.sync {}
        #expect(calls.all == [100_000])
        tiny.cancel()
        other.cancel()
    }

    @Test("dispatch_timer_short: 25,000 sources whose calls wait in a stalled queue do not slow a short timer down")
    func stalled() {
        let queue = DispatchQueue(label: "stalled")
        queue.suspend()
        let stalled = (0..<25_000).map { index in
            let source = TimerSource(engine: engine, queue: queue)
            source.setEventHandler {}
            source.schedule(deadline: time.now.advanced(by: .nanoseconds(index)), repeating: .milliseconds(1))
            source.activate()
            return source
        }
        let short = source()
        short.schedule(deadline: time.now.advanced(by: .microseconds(100)), repeating: .microseconds(100))
        time.advance(by: .milliseconds(10))
        #expect(calls.all == Array(repeating: 1, count: 100))
        #expect(engine.statistics.fires == 25_100)
        stalled.forEach { $0.cancel() }
        queue.resume()
        queue.sync {}
        #expect(engine.liveTimers == 1)
        short.cancel()
    }

    @Test(
        "test_timerInvalidate, dispatch_timer: a source that another's handler cancels in the same pass is not called"
    )
    func cancelledInSamePass() {
        let (first, second, third) = (source(), source(), source())
        let deadline = time.now.advanced(by: .seconds(1))
        first.setEventHandler { [calls] in
            calls.append(10)
            second.cancel()
            first.cancel()
        }
        for source in [first, second, third] { source.schedule(deadline: deadline, repeating: .seconds(1)) }
        time.advance(by: .seconds(2))
        #expect(calls.all == [10, 1, 1])
        third.cancel()
    }

    @Test("testScheduledCallback…: a cancel prevents the call only if it comes before it", arguments: [false, true])
    func fireOrCancel(cancelsFirst: Bool) {
        let log = Recorder<String>()
        for _ in 0..<100 {
            let source = TimerSource(engine: engine)
            source.setEventHandler { log.append("fired") }
            source.setCancelHandler { log.append("cancelled") }
            source.schedule(deadline: time.now)
            source.activate()
            if !cancelsFirst { time.advance(by: .zero) }
            source.cancel()
            time.advance(by: .zero)
        }
        #expect(
            log.all
                == Array(repeating: cancelsFirst ? ["cancelled"] : ["fired", "cancelled"], count: 100).flatMap { $0 }
        )
    }

    @Test(
        "testRepeatedTask…Finished: the cancel handler runs once, after the running handler, and nothing follows"
    )
    func cancelledAtLast() {
        let log = Recorder<String>()
        let source = TimerSource(engine: engine)
        source.setCancelHandler { log.append("cancelled") }
        source.setEventHandler { [time, weak source] in
            log.append("begin")
            source?.cancel()
            time.advance(by: .seconds(10))
            log.append("end")
        }
        source.schedule(deadline: time.now, repeating: .seconds(1))
        source.activate()
        time.advance(by: .seconds(100))
        #expect(log.all == ["begin", "end", "cancelled"])
    }
}
