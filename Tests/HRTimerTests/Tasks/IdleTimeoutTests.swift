// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// The idle timeout's contract on frozen time.
@Suite("An idle timeout")
struct IdleTimeoutTests {
    let time = ManualTime()
    let engine: TimerEngine
    let calls = Recorder<MonotonicInstant>()
    let canaries = Canaries()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
    }

    private func idle(_ timeout: Duration) -> IdleTimeout {
        IdleTimeout(timeout, engine: engine) { [time, calls, canary = canaries.make()] in
            withExtendedLifetime(canary) { calls.append(time.now) }
        }
    }

    @Test(
        "expires at its deadline on a precise engine, which wakes before it, and beside a precise timer",
        arguments: [true, false]
    )
    func precise(isEngine: Bool) throws {
        let engine = try TimerEngine(.init(precision: isEngine ? .precise : .normal, time: time.base))
        let start = time.now
        let calls = calls
        let idle = IdleTimeout(.seconds(1), engine: engine) { [time] in calls.append(time.now) }
        let neighbour = TimerSource(engine: engine)
        neighbour.precision = .precise
        neighbour.setEventHandler {}
        neighbour.schedule(deadline: start + .seconds(1) + .microseconds(50))
        neighbour.activate()
        time.advance(by: .seconds(2))
        #expect(calls.all == [start + .seconds(1)])
        #expect(idle.resume())
        time.advance(by: .milliseconds(500))
        #expect(idle.touch())
        time.advance(by: .seconds(5))
        #expect(calls.all.last == start + .seconds(3) + .milliseconds(500))
    }

    @Test("expires once, at its deadline, and can be resumed afterwards")
    func runsOut() {
        let start = time.now
        let idle = idle(.seconds(30))
        #expect(idle.nextDeadline == start + .seconds(30))
        #expect(idle.resume())
        time.advance(by: .seconds(30) - .nanoseconds(1))
        #expect(calls.count == 0)
        time.advance(by: .seconds(3600))
        #expect(calls.all == [start + .seconds(30)])
        #expect(idle.nextDeadline == nil)
        #expect(!idle.touch())
        #expect(idle.resume())
        time.advance(by: .seconds(3600))
        #expect(calls.count == 2)
        #expect(canaries.count == 1)
    }

    @Test("restarts with every touch")
    func touch() {
        let idle = idle(.seconds(30))
        for _ in 0..<100 {
            time.advance(by: .seconds(29))
            #expect(idle.touch())
        }
        #expect(calls.count == 0)
        #expect(time.nextDeadline == time.now + .seconds(30))
        time.advance(by: .seconds(30))
        #expect(calls.count == 1)
    }

    @Test("does not expire while it is suspended, and wakes no thread")
    func pause() {
        let idle = idle(.seconds(30))
        #expect(idle.suspend())
        #expect(!idle.suspend())
        #expect(!idle.touch())
        #expect(idle.nextDeadline == nil)
        #expect(time.nextDeadline == nil)
        time.advance(by: .seconds(3600))
        #expect(idle.resume())
        time.advance(by: .seconds(29))
        #expect(calls.count == 0)
        time.advance(by: .seconds(1))
        #expect(calls.count == 1)
    }

    @Test("does not call its handler after cancel, which frees it and returns whether it came before the expiry")
    func cancel() {
        let idle = idle(.seconds(30))
        #expect(idle.cancel())
        #expect(!idle.cancel())
        #expect(!idle.touch() && !idle.resume() && !idle.suspend())
        time.advance(by: .seconds(3600))
        #expect(calls.count == 0)
        #expect(canaries.count == 0)
        #expect(engine.liveTimers == 0)
        let other = self.idle(.seconds(1))
        time.advance(by: .seconds(1))
        #expect(!other.cancel())
        #expect(canaries.count == 0)
    }

    @Test("stops when its last reference is released")
    func drop() {
        do { _ = idle(.seconds(1)) }
        time.advance(by: .seconds(10))
        #expect(calls.count == 0)
        #expect(canaries.count == 0)
        #expect(engine.liveTimers == 0)
    }

    @Test("applies a new length from the next touch on, also a shorter one")
    func length() {
        let idle = idle(.seconds(30))
        idle.timeout = .seconds(10)
        #expect(idle.timeout == .seconds(10))
        #expect(idle.nextDeadline == time.now + .seconds(30))
        idle.touch()
        time.advance(by: .seconds(10))
        #expect(calls.count == 1)
    }

    @Test(
        "accepts any length, also zero, negative and huge ones",
        arguments: [.zero, .seconds(-5), .seconds(Int64.max), .seconds(Int64.min)] as [Duration]
    )
    func anyLength(length: Duration) {
        let idle = idle(length)
        time.advance(by: .zero)
        #expect(calls.count == (length > .zero ? 0 : 1))
        #expect((idle.nextDeadline != nil) == (length > .zero))
        idle.resume()
        #expect(idle.cancel())
    }

    @Test("can be resumed and cancelled in its handler")
    func inHandler() {
        let box = Recorder<IdleTimeout>()
        let idle = IdleTimeout(.seconds(1), engine: engine) { [time, calls] in
            calls.append(time.now)
            if calls.count < 3 { #expect(box.all[0].resume()) } else { #expect(!box.all[0].cancel()) }
        }
        box.append(idle)
        time.advance(by: .seconds(10))
        #expect(calls.count == 3)
        #expect(engine.liveTimers == 0)
        box.removeAll()
    }

    @Test("does not run on an engine that has shut down")
    func engineEnds() async {
        let idle = idle(.seconds(1))
        await engine.shutdown()
        #expect(idle.nextDeadline == nil && !idle.touch() && !idle.resume())
        #expect(canaries.count == 0)
        let late = self.idle(.seconds(1))
        #expect(late.nextDeadline == nil)
        #expect(canaries.count == 0)
    }
}
