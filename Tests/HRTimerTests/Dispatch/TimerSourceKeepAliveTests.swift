import Dispatch
import HRTimer
import HRTimerTesting
import Seeded
import TestSupport
import Testing

/// A one-shot source whose deadline is moved later again and again, as a connection's timeout is: past the lock, and yet as
/// if it had been taken. On frozen time.
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

    @Test("Moved later many times, it fires once, at the last deadline")
    func last() {
        for seconds in 2...100 { schedule(seconds) }
        time.advance(by: .seconds(99))
        #expect(calls.count == 0)
        time.advance(by: .seconds(100))
        #expect(calls.all == [instant(100)])
        #expect(engine.statistics.fires == 1)
    }

    @Test(
        "Moved later each time before it fires, it never fires, and wakes the engine once a deadline, not once a move"
    )
    func alive() {
        let before = engine.statistics.wakeups
        for tenths in 0..<1000 {
            source.schedule(deadline: time.now.advanced(by: .seconds(1)))
            time.advance(by: .milliseconds(100))
            #expect(calls.count == 0, "after \(tenths)")
        }
        #expect(engine.statistics.fires == 0)
        // Within 100 s: one for the first deadline, and one each 0.9 s or more, when the deadline known then has come.
        #expect(engine.statistics.wakeups - before <= 1 + 112)
    }

    @Test("Moved later and then earlier, it fires at the earlier deadline")
    func earlier() {
        schedule(10)
        schedule(5)
        time.advance(by: .seconds(20))
        #expect(calls.all == [instant(5)])
    }

    @Test("Moved later and suspended, it fires at the later deadline after resume, and at resume if that has passed")
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

    @Test("Moved later and made to repeat, the interval counts from the new deadline")
    func repeats() {
        schedule(10)
        source.schedule(deadline: instant(12), repeating: .seconds(2))
        time.advance(by: .seconds(16))
        #expect(calls.all == [instant(12), instant(14), instant(16)])
    }

    @Test("Scheduled to repeat and then moved without an interval, it fires once")
    func repeatsNoMore() {
        source.schedule(deadline: instant(2), repeating: .seconds(2))
        schedule(10)
        time.advance(by: .seconds(100))
        #expect(calls.all == [instant(10)])
    }

    @Test("Moved later and cancelled, it never fires; distantFuture takes the deadline back")
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

    @Test("Moving it later takes no lock: it goes on while another thread holds the engine's")
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
            // The deadline comes that the engine knew: it asks for the present one, and the source can be moved as before.
            time.advance(by: .seconds(5))
            #expect(calls.count == 0)
        }
    }

    @Test("What a test sees is the deadline that holds, not the former one for which the engine is awake once more")
    func exact() {
        schedule(2)
        #expect(time.nextDeadline == instant(2) && source.nextDeadline == instant(2))
        let before = engine.statistics.wakeups
        time.advance(to: instant(1))
        #expect(engine.statistics.wakeups == before + 1 && engine.statistics.fires == 0)
        #expect(time.nextDeadline == instant(2))
        #expect(time.run() == 1)
        #expect(calls.all == [instant(2)] && time.nextDeadline == .distantFuture)
    }

    @Test("Random moves, suspensions and steps of time end as in a model of one variable, and no call is early")
    func model() throws {
        var random = SeededRandom.fromEnvironment()
        var deadline: Int? = 1
        var suspensions = 0
        var now = 0
        var expected: [MonotonicInstant] = []
        for _ in 0..<20_000 {
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
                // One second at a time, so that each call has its own instant; the first step is none.
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
        #expect(calls.count > 1000)
    }
}
