// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import TestSupport
import Testing

/// The engine's interface: reading deadlines, moving timers, and what a shutdown drops. On frozen time.
@Suite struct EngineFaceTests {
    let time = ManualTime(start: MonotonicInstant(nanoseconds: 0))
    let fires = Recorder<TimerFire>()

    private func at(_ ns: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: ns) }

    @Test("deadline(of:) answers for a pending timer, for one that never fires, and for one that is gone")
    func deadlines() throws {
        let engine = try TimerEngine(time: time.base)
        let token = engine.schedule(at: at(100), every: .nanoseconds(50)) { _ in }
        let never = engine.schedule(at: .distantFuture) { _ in }
        #expect(engine.deadline(of: token) == at(100))
        #expect(engine.deadline(of: never) == .distantFuture)
        time.advance(to: at(120))
        #expect(engine.deadline(of: token) == at(150))
        engine.cancel(token)
        #expect(engine.deadline(of: token) == nil)
        let other = try TimerEngine(time: time.base)
        #expect(other.deadline(of: never) == nil)
        engine.shutdown()
        #expect(engine.deadline(of: never) == nil)
    }

    @Test(
        "In its handler a timer's deadline is the one being fired, or the one just set; other due timers keep theirs"
    )
    func deadlinesInHandler() throws {
        let engine = try TimerEngine(time: time.base)
        let seen = Recorder<MonotonicInstant?>()
        let later = (0..<70).map { _ in engine.schedule(at: at(100)) { _ in } }
        engine.schedule(at: at(90), every: .nanoseconds(500)) { [at] fire in
            seen.append(engine.deadline(of: fire.token))
            seen.append(engine.deadline(of: later[3]))
            seen.append(engine.deadline(of: later[69]))
            engine.reschedule(fire.token, at: at(1000))
            seen.append(engine.deadline(of: fire.token))
        }
        time.advance(to: at(300))
        #expect(seen.all == [at(90), at(100), at(100), at(1000)])
    }

    @Test("A timer can be moved later like a timeout, by a Duration or by seconds")
    func after() throws {
        let engine = try TimerEngine(time: time.base)
        let token = engine.schedule(after: 1, handler: fires.append)
        time.advance(by: .milliseconds(900))
        #expect(engine.reschedule(token, after: 0.5))
        #expect(engine.reschedule(token, after: .seconds(2)))
        time.advance(by: .milliseconds(1900))
        #expect(fires.count == 0)
        #expect(engine.deadline(of: token) == at(2_900_000_000))
        time.advance(by: .milliseconds(100))
        #expect(fires.all.map(\.firedAt) == [at(2_900_000_000)])
        #expect(!engine.reschedule(token, after: 1))
    }

    @Test("A new interval starts a new grid, makes a one-shot timer repeat, and nil ends the repetition")
    func newInterval() throws {
        let engine = try TimerEngine(time: time.base)
        let token = engine.schedule(at: at(100), handler: fires.append)
        #expect(engine.reschedule(token, at: at(200), every: .nanoseconds(30)))
        time.advance(to: at(270))
        #expect(fires.all.map(\.deadline) == [at(200), at(230), at(260)])
        #expect(engine.reschedule(token, at: at(300), every: nil))
        time.advance(to: at(1000))
        #expect(fires.all.map(\.deadline) == [at(200), at(230), at(260), at(300)])
        #expect(engine.liveTimers == 0)
        #expect(!engine.reschedule(token, at: at(2000), every: .nanoseconds(10)))
    }

    @Test("A handler may change its own timer's interval")
    func newIntervalInHandler() throws {
        let engine = try TimerEngine(time: time.base)
        engine.schedule(at: at(100), every: .nanoseconds(10)) { [fires, at] fire in
            fires.append(fire)
            if fires.count == 2 { engine.reschedule(fire.token, at: at(200), every: .nanoseconds(100)) }
        }
        time.advance(to: at(450))
        #expect(fires.all.map(\.deadline) == [at(100), at(110), at(200), at(300), at(400)])
    }

    @Test(
        "A shorter interval also limits the tolerance: no call merges with a later tick or comes after the window"
    )
    func tolerance() throws {
        let engine = try TimerEngine(precision: .coalesced, time: time.base)
        let token = engine.schedule(
            at: at(10_000),
            every: .nanoseconds(20_000),
            tolerance: .nanoseconds(9000),
            handler: fires.append
        )
        #expect(engine.reschedule(token, at: at(1000), every: .nanoseconds(100)))
        time.advance(to: at(1320))
        // Each fires at the end of a window of half the new interval.
        #expect(fires.all.map(\.deadline) == [at(1000), at(1100), at(1200)])
        #expect(fires.all.map(\.firedAt) == [at(1050), at(1150), at(1250)])
        // The tolerance that was requested first counts again where the interval is long enough.
        #expect(engine.reschedule(token, at: at(100_000), every: .nanoseconds(20_000)))
        time.advance(to: at(109_000))
        #expect(fires.all.last?.firedAt == at(109_000))
    }

    @Test(
        "A timer that is moved while its window is open does not fire for its former deadline",
        arguments: [nil, 50] as [Int64?]
    )
    func formerDeadline(_ interval_ns: Int64?) throws {
        let engine = try TimerEngine(precision: .coalesced, time: time.base)
        let token = engine.schedule(
            at: at(100),
            every: .nanoseconds(2000),
            tolerance: .nanoseconds(1000),
            handler: fires.append
        )
        // The clock is within the window; the timer has not been called yet.
        time.advance(to: at(500))
        #expect(fires.count == 0)
        #expect(engine.reschedule(token, at: at(5000), every: interval_ns.map { .nanoseconds($0) }))
        // Another timer wakes the engine within the former window.
        engine.schedule(at: at(600)) { _ in }
        time.advance(to: at(4999))
        #expect(fires.count == 0)
        time.advance(to: at(6000))
        #expect(fires.all.first?.deadline == at(5000))
    }

    @Test("The policy of a one-shot timer takes effect when the timer is given an interval")
    func policy() throws {
        let engine = try TimerEngine(time: time.base)
        let token = engine.schedule(at: at(100), policy: .burst) { [fires, time] fire in
            fires.append(fire)
            if fires.count == 1 { time.advance(by: .nanoseconds(35)) }
        }
        engine.reschedule(token, at: at(100), every: .nanoseconds(10))
        time.advance(to: at(140))
        #expect(fires.all.map(\.deadline) == [100, 110, 120, 130, 140].map(at))
    }

    @Test("The first shutdown returns the number of pending timers it dropped, without the one in its last call")
    func dropped() throws {
        let engine = try TimerEngine(time: time.base)
        engine.schedule(at: at(10)) { _ in }
        engine.schedule(at: at(500)) { _ in }
        engine.schedule(at: .distantFuture) { _ in }
        engine.schedule(at: at(10), every: .nanoseconds(20)) { _ in }
        engine.cancel(engine.schedule(at: at(700)) { _ in })
        time.advance(to: at(100))
        #expect(engine.shutdown() == 3)
        #expect(engine.shutdown() == 0)

        let counts = Recorder<Int>()
        for interval in [nil, Duration.nanoseconds(10)] {
            let own = try TimerEngine(time: time.base)
            own.schedule(at: time.now, every: interval) { _ in counts.append(own.shutdown()) }
            time.advance(by: .nanoseconds(1))
        }
        #expect(counts.all == [0, 1])
    }

    @Test("The asynchronous shutdown, and that of a group, return the number of dropped timers too")
    func droppedAsync() async throws {
        let engine = try TimerEngine(time: time.base)
        engine.schedule(after: 3) { _ in }
        #expect(await engine.shutdown() == 1)
        let group = try TimerEngineGroup(count: 2, .init(time: time.base))
        for engine in group.engines { engine.schedule(after: .seconds(1)) { _ in } }
        #expect(await group.shutdown() == 2)
    }

    @Test("schedule(after:) takes seconds or a Duration on each of the three clocks")
    func everyClock() throws {
        let log = Recorder<String>()
        let engine = try TimerEngine(name: "test", precision: .normal, time: time.base)
        let boot = try BootTimeTimerEngine(name: "test", time: time.base)
        let wall = try WallTimerEngine(name: "test", time: time.base)
        engine.schedule(after: 0.5, every: 0.25) { _ in log.append("monotonic") }
        boot.schedule(after: .milliseconds(600), tolerance: 0.1) { _ in log.append("boot") }
        wall.schedule(after: 1, every: 60.0) { _ in log.append("wall") }
        #expect(boot.deadline(of: boot.schedule(after: 2) { _ in }) == time.bootTimeNow.advanced(by: .seconds(2)))
        time.advance(by: .seconds(1))
        #expect(log.all == ["monotonic", "boot", "monotonic", "monotonic", "wall"])
        // While the system is suspended, the other clocks go on.
        let token = wall.schedule(after: 3600) { _ in log.append("hour") }
        time.suspendSystem(for: .seconds(3599.5))
        #expect(log.all.last == "wall")
        #expect(wall.reschedule(token, after: 0.25))
        time.advance(by: .milliseconds(250))
        #expect(log.all.suffix(2).contains("hour"))
    }

    @Test("A delay of NaN or below zero means now; an infinite one means never")
    func oddDelays() throws {
        let engine = try TimerEngine(time: time.base)
        let now = time.now
        for delay in [Double.nan, -1, -Double.infinity, 0] { engine.schedule(after: delay, handler: fires.append) }
        let never = engine.schedule(after: .infinity, handler: fires.append)
        time.advance(by: .zero)
        #expect(fires.count == 4)
        #expect(fires.all.allSatisfy { $0.firedAt == now })
        #expect(engine.deadline(of: never) == .distantFuture)
    }

    @Test("An engine's description has its precision, timers, fires and lateness, or says that it has ended")
    func description() throws {
        let engine = try TimerEngine(precision: .precise, time: time.base)
        engine.schedule(after: 1, every: 1.0) { _ in }
        #expect("\(engine)" == "TimerEngine(precise, 1 timer, 0 fires)")
        time.advance(by: .seconds(1))
        #expect("\(engine)".hasPrefix("TimerEngine(precise, 1 timer, 1 fire; lateness of 1 value: min 0 ns"))
        engine.shutdown()
        #expect("\(engine)".hasPrefix("TimerEngine(ended"))
    }
}
