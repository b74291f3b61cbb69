// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import HRTimerTesting
import Seeded
import TestSupport
import Testing

/// Tests of a one-shot source whose deadline is moved later again and again, as a connection's timeout is. Such a move takes no
/// lock, and yet has the same effect as one under the lock. On frozen time.
@Suite struct TimerSourceKeepAliveTests {
    let time = ManualTime()
    let engine: TimerEngine
    let source: TimerSource
    let calls = Recorder<MonotonicInstant>()
    let start: MonotonicInstant

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        source = TimerSource(engine: engine)
        start = time.now
        source.setEventHandler { [calls, time] in calls.append(time.now) }
        schedule(1)
        source.activate()
    }

    private func instant(_ seconds: Int) -> MonotonicInstant {
        start.advanced(by: .seconds(seconds))
    }

    private func schedule(_ seconds: Int) {
        source.schedule(deadline: instant(seconds))
    }

    @Test("A source that is moved later many times fires once, at the last deadline")
    func last() {
        for seconds in 2...100 { schedule(seconds) }
        time.advance(by: .seconds(99))
        #expect(calls.count == 0)
        time.advance(by: .seconds(100))
        #expect(calls.all == [instant(100)])
        #expect(engine.statistics.fires == 1)
    }

    @Test(
        "A source moved later before each fire never fires, and wakes the engine once per deadline, not per move"
    )
    func alive() {
        let before = engine.statistics.wakeups
        for tenths in 0..<1000 {
            source.schedule(deadline: time.now.advanced(by: .seconds(1)))
            time.advance(by: .milliseconds(100))
            #expect(calls.count == 0, "after \(tenths)")
        }
        #expect(engine.statistics.fires == 0)
        // In 100 s: one wake-up for the first deadline, and then at most one each 0.9 s, at the deadline that the engine knew.
        #expect(engine.statistics.wakeups - before <= 1 + 112)
    }

    @Test("A source that is moved later and then earlier fires at the earlier deadline")
    func earlier() {
        schedule(10)
        schedule(5)
        time.advance(by: .seconds(20))
        #expect(calls.all == [instant(5)])
    }

    @Test("A source moved later and suspended fires at the later deadline, or at resume if that has passed")
    func suspended() {
        schedule(10)
        source.suspend()
        source.resume()
        time.advance(by: .seconds(9))
        #expect(calls.count == 0)
        source.suspend()
        time.advance(by: .seconds(6))
        #expect(calls.count == 0)
        source.resume()
        time.advance(by: .zero)
        #expect(calls.all == [instant(15)])
    }

    @Test("A source that is moved later and made to repeat counts its interval from the new deadline")
    func repeats() {
        schedule(10)
        source.schedule(deadline: instant(12), repeating: .seconds(2))
        time.advance(by: .seconds(16))
        #expect(calls.all == [instant(12), instant(14), instant(16)])
    }

    @Test("A repeating source that is rescheduled without an interval fires once")
    func repeatsNoMore() {
        source.schedule(deadline: instant(2), repeating: .seconds(2))
        schedule(10)
        time.advance(by: .seconds(100))
        #expect(calls.all == [instant(10)])
    }

    @Test("A source moved later and cancelled never fires; a move to distantFuture takes the deadline back")
    func never() {
        schedule(10)
        source.schedule(deadline: MonotonicInstant.distantFuture)
        time.advance(by: .seconds(100))
        #expect(calls.count == 0)
        schedule(101)
        schedule(102)
        source.cancel()
        schedule(103)
        time.advance(by: .seconds(100))
        #expect(calls.count == 0)
    }

    @Test("A move to a later deadline takes no lock: it succeeds while another thread holds the engine's lock")
    func lockFree() {
        for seconds in [10, 20] {
            let moved = DispatchSemaphore(value: 0)
            _ = engine.core.state.lock()
            DispatchQueue.global().async { [source, start] in
                source.schedule(deadline: start.advanced(by: .seconds(seconds)))
                moved.signal()
            }
            let outcome = moved.wait(timeout: .now() + 30)
            engine.core.state.unlock()
            #expect(outcome == .success)
            // At the deadline that it knew, the engine reads the present one; afterwards the source can be moved as before.
            time.advance(by: .seconds(5))
            #expect(calls.count == 0)
        }
    }

    @Test("A test sees the source's present deadline, not the former one at which the engine still wakes once")
    func exact() {
        schedule(2)
        #expect(time.nextDeadline == instant(2) && source.nextDeadline == instant(2))
        #expect(time.nextDeadline == instant(2))
        let before = engine.statistics.wakeups
        time.advance(to: instant(1))
        #expect(engine.statistics.wakeups == before + 1 && engine.statistics.fires == 0)
        #expect(time.nextDeadline == instant(2))
        #expect(time.run() == 1)
        #expect(calls.all == [instant(2)] && time.nextDeadline == nil)
    }

    @Test("Random moves, suspensions and time steps end as in a model of one variable, and no call is early")
    func model() throws {
        var random = SeededRandom.fromEnvironment()
        var deadline: Int? = 1
        var suspensions = 0
        var now = 0
        var expected: [MonotonicInstant] = []
        let operations = environment("HRTIMER_MODEL_OPERATIONS").flatMap { Int($0) } ?? 20_000
        for _ in 0..<operations {
            switch Int.random(in: 0..<10, using: &random) {
            case 0 where suspensions < 3:
                source.suspend()
                suspensions += 1
            case 1, 2:
                source.resume()
                suspensions = max(0, suspensions - 1)
            case 3:
                let earlier = now + Int.random(in: -2...5, using: &random)
                schedule(earlier)
                deadline = earlier
            default:
                let later = max(deadline ?? 0, now) + Int.random(in: 0...5, using: &random)
                schedule(later)
                deadline = later
            }
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                // One second at a time, so that each call has its own instant; an advance by zero makes a due call first.
                if let due = deadline, due <= now, suspensions == 0 {
                    time.advance(by: .zero)
                    expected.append(instant(now))
                    deadline = nil
                }
                time.advance(by: .seconds(1))
                now += 1
            }
            if let due = deadline, due <= now, suspensions == 0 {
                time.advance(by: .zero)
                expected.append(instant(now))
                deadline = nil
            }
        }
        #expect(calls.all == expected)
        #expect(calls.count > operations / 20)
    }
}
