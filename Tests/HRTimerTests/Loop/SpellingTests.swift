// SPDX-License-Identifier: Apache-2.0
import Dispatch
import FoundationEssentials
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// The spellings of a time: each one works wherever a time is taken. In manual time.
@Suite struct SpellingTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    let log = Recorder<String>()

    init() {
        loop = TimerLoop(time: time.base)
        start = time.now
    }

    private func seconds(_ body: () -> Void) -> Double {
        let before = time.now
        body()
        return Double(before.duration(to: time.now).nanosecondsRoundedUp) / 1e9
    }

    @Test("A length of time is seconds, a Duration or a DispatchTimeInterval, literal or not, for timers and runs")
    func lengths() {
        let double = 0.5
        let whole = 2
        let duration = Duration.milliseconds(1500)
        let timers = [
            LoopTimer(timeInterval: 0.25, repeats: true) { _ in },
            LoopTimer(timeInterval: double, repeats: true, tolerance: double / 10) { _ in },
            LoopTimer(timeInterval: 1, repeats: true) { _ in },
            LoopTimer(timeInterval: duration, repeats: true, tolerance: .milliseconds(100)) { _ in },
            LoopTimer(timeInterval: whole, repeats: true) { _ in },
            LoopTimer(timeInterval: .seconds(whole) / 2, repeats: true) { _ in },
            LoopTimer(timeInterval: DispatchTimeInterval.milliseconds(30), repeats: true) { _ in },
        ]
        #expect(timers.map(\.timeInterval) == [0.25, 0.5, 1, 1.5, 2, 1, 0.03])
        #expect(timers.map(\.tolerance) == [0, 0.05, 0, 0.1, 0, 0, 0])
        loop.isKeptAlive = true
        #expect(seconds { loop.run(for: 0.5) } == 0.5)
        #expect(seconds { loop.run(for: duration) } == 1.5)
        #expect(seconds { loop.run(for: .milliseconds(20)) } == 0.02)
        #expect(seconds { loop.run(for: DispatchTimeInterval.seconds(1)) } == 1)
    }

    @Test("A length of NaN seconds is zero, and one beyond 292 years saturates, by every member with a leading dot")
    func lengthsThatAreNone() {
        func length_ns(_ length: some TimeSpan) -> Int64? { length.nanoseconds }
        for (number, expected_ns) in [
            (Double.infinity, Int64.max), (-.infinity, .min), (.nan, 0),
            (.greatestFiniteMagnitude, .max), (-1e30, .min),
        ] {
            #expect(length_ns(.seconds(number)) == expected_ns)
            #expect(length_ns(.milliseconds(number)) == expected_ns)
            #expect(length_ns(.microseconds(number)) == expected_ns)
        }
        // 291 years.
        #expect(length_ns(.seconds(9.2e9)) == 9_200_000_000_000_000_000)
        #expect(length_ns(.milliseconds(-9.2e12)) == -9_200_000_000_000_000_000)
        #expect(length_ns(.seconds(0.25)) == 250_000_000)
        #expect(length_ns(.milliseconds(0.25)) == 250_000)
        #expect(length_ns(.microseconds(0.25)) == 250)
    }

    @Test("A point in time is an instant or a date, for timers and for runs")
    func points() {
        loop.isKeptAlive = true
        let date = Date(timeIntervalSince1970: Double(time.wallNow.nanoseconds) / 1e9 + 3)
        #expect(abs(seconds { loop.run(until: date) } - 3) < 1e-6)
        #expect(seconds { loop.run(until: start + .seconds(4)) } > 0.99)
        #expect(seconds { loop.run(until: .distantPast) } == 0)
        #expect(seconds { loop.run(until: Date(timeIntervalSinceReferenceDate: .nan)) } == 0)
        for timer in [
            LoopTimer(fireAt: start + .seconds(5)) { [log] _ in log.append("instant") },
            LoopTimer(fireAt: date + 10, interval: 0.5, repeats: false) { [log] _ in log.append("date") },
        ] { loop.add(timer, forMode: .default) }
        loop.run(until: start + .seconds(14))
        #expect(log.all == ["instant", "date"])
    }

    @Test("A point in time can also be a DispatchTime")
    func dispatchTime() {
        let timer = LoopTimer(fireAt: DispatchTime(uptimeNanoseconds: 5_000_000_000)) { _ in }
        #expect(timer.fireInstant == MonotonicInstant(nanoseconds: 5_000_000_000))
        #expect(LoopTimer(fireAt: DispatchTime.distantFuture) { _ in }.fireInstant == .distantFuture)
    }

    @Test("A NaN interval or delay makes an invalid timer, and a NaN tolerance or limit counts as zero")
    func nan() {
        #expect(!LoopTimer(timeInterval: .nan, repeats: true) { _ in }.isValid)
        #expect(!LoopTimer(fireAt: start, interval: .nan, repeats: true) { _ in }.isValid)
        let timer = LoopTimer(timeInterval: 1, repeats: true, tolerance: .nan) { _ in }
        #expect(timer.tolerance == 0)
        timer.setTolerance(.milliseconds(100))
        #expect(timer.tolerance == 0.1)
        timer.setTolerance(2)
        #expect(timer.tolerance == 0.5)
        timer.setTolerance(Double.nan)
        #expect(timer.tolerance == 0)
        loop.isKeptAlive = true
        #expect(seconds { loop.run(for: .nan) } == 0)
        #expect(!loop.perform(afterDelay: .nan) {}.isValid)
    }

    @Test("An infinite interval never fires, and an infinite run has no limit")
    func infinite() {
        let timer = LoopTimer(timeInterval: .infinity, repeats: false) { _ in }
        loop.add(timer, forMode: .default)
        #expect(timer.fireInstant == .distantFuture)
        loop.perform(afterDelay: 100) { [loop] in loop.stop() }
        #expect(loop.run(for: .infinity) == .stopped)
        #expect(time.now == start + .seconds(100))
    }

    @Test("Named tasks take every spelling, and refuse NaN by the argument's name")
    func tasks() throws {
        let tasks = TimerRegistry(engine: try TimerEngine(.init(time: time.base)))
        try tasks.execute(name: "a", start: 0.5, interval: 1) { [log] in log.append("a") }
        try tasks.execute(name: "b", start: DispatchTimeInterval.milliseconds(700), interval: .seconds(2)) { [log] in
            log.append("b")
        }
        try tasks.execute(name: "c", start: Duration.milliseconds(1600), repeats: false) { [log] in log.append("c") }
        time.advance(by: .seconds(2))
        #expect(log.all == ["a", "b", "a", "c"])
        #expect {
            try tasks.execute(name: "d", start: .nan, interval: 1) {}
        } throws: {
            "\($0)".contains("`start` takes zero or more, not NaN")
        }
        #expect {
            try tasks.execute(name: "d", interval: .nan) {}
        } throws: {
            "\($0)".contains("`interval` of a task that repeats takes more than zero, not NaN")
        }
    }

    @Test("Work for a queue takes every spelling, and NaN means now")
    func workOnQueue() throws {
        let engine = try TimerEngine(.init(time: time.base))
        let queue = DispatchQueue(label: "work")
        func add(_ text: String) -> @Sendable () -> Void { { [log] in log.append(text) } }
        engine.schedule(after: 0.5, tolerance: 0.1, on: queue, execute: add("seconds"))
        engine.schedule(after: .milliseconds(600), on: queue, execute: add("duration"))
        engine.schedule(after: DispatchTimeInterval.milliseconds(700), on: queue, execute: add("interval"))
        engine.schedule(at: start + .seconds(1), on: queue, execute: add("instant"))
        let date = Date(timeIntervalSince1970: Double(time.wallNow.nanoseconds) / 1e9 + 2)
        engine.schedule(at: date, on: queue, execute: add("date"))
        let dispatchTime = DispatchTime(uptimeNanoseconds: UInt64(start.nanoseconds) + 3_000_000_000)
        engine.schedule(at: dispatchTime, on: queue, execute: add("time"))
        for (delay, text) in [(.nan, "NaN"), (-1, "before")] as [(Double, String)] {
            engine.schedule(after: delay, on: queue, execute: add(text))
        }
        engine.schedule(at: .distantPast, on: queue, execute: add("past"))
        engine.schedule(at: Date(timeIntervalSinceReferenceDate: .nan), on: queue, execute: add("no date"))
        engine.schedule(at: .now + .seconds(1_000_000_000), on: queue, execute: add("never"))
        // These were submitted at once, by the calling thread.
        queue.sync {}
        #expect(log.all == ["NaN", "before", "past", "no date"])
        log.removeAll()
        time.advance(by: .seconds(10))
        queue.sync {}
        #expect(log.all == ["seconds", "duration", "interval", "instant", "date", "time"])
        engine.shutdown()
    }

    @Test("An engine's timer can be moved to an instant, and by a delay in every spelling")
    func movedTimers() throws {
        let engine = try TimerEngine(.init(time: time.base))
        let token = engine.schedule(at: .distantFuture, every: .seconds(1)) { [log, start = time.now] fire in
            log.append("\(start.duration(to: fire.deadline).components.seconds)")
        }
        engine.reschedule(token, at: .now + .seconds(100))
        engine.reschedule(token, after: 90.0)
        #expect(engine.deadline(of: token) == time.now + .seconds(90))
        engine.reschedule(token, after: DispatchTimeInterval.seconds(2))
        time.advance(by: .milliseconds(3500))
        #expect(log.all == ["2", "3"])
        log.removeAll()
        engine.reschedule(token, at: time.now + .milliseconds(3500), every: .seconds(2))
        time.advance(by: .milliseconds(6500))
        #expect(log.all == ["7", "9"])
        engine.reschedule(token, after: Double.nan)
        #expect(engine.deadline(of: token)! <= time.now)
        engine.shutdown()
    }

    @Test("Ticks, idle timeouts and meters take every spelling")
    func others() throws {
        let engine = try TimerEngine(.init(time: time.base))
        let clock = MonotonicClock(engine: engine)
        let ticks = clock.ticks(every: 0.01, tolerance: 0.001)
        #expect(ticks.interval == .milliseconds(10))
        ticks.schedule(every: 2)
        #expect(ticks.interval == .seconds(2))
        ticks.schedule(first: start, every: .microseconds(500))
        #expect(ticks.interval == .microseconds(500))
        #expect(clock.ticks(every: .nan).interval == .microseconds(100))
        #expect(clock.ticks(every: DispatchTimeInterval.seconds(3), tolerance: .nan).interval == .seconds(3))
        #expect(
            WallClock(engine: try WallTimerEngine(.init(time: time.base))).ticks(every: 1.5).interval
                == .milliseconds(1500)
        )

        let idle = IdleTimeout(1.5, engine: engine) { [log] in log.append("idle") }
        #expect(idle.timeout == .milliseconds(1500))
        #expect(idle.nextDeadline == start + .milliseconds(1500))
        let none = IdleTimeout(.nan, engine: engine) { [log] in log.append("NaN") }
        time.advance(by: .zero)
        #expect(log.all == ["NaN"])
        #expect(none.nextDeadline == nil)
        idle.cancel()

        let meter = FrameRateMeter(window: 2)
        for frame in 0...30 { meter.note(at: start + .milliseconds(100 * frame)) }
        #expect(meter.framesPerSecond == 10)
        let early = FrameRateMeter(window: 2)
        for frame in 0...19 { early.note(at: start + .milliseconds(100 * frame)) }
        #expect(early.framesPerSecond == nil)
    }

    @Test("A timeout takes every spelling")
    func timeout() async throws {
        let clock = MonotonicClock(engine: try TimerEngine(.init(time: time.base)))
        #expect(try await withTimeout(5, clock: clock) { 7 } == 7)
        await #expect {
            try await withTimeout(.nan, clock: clock) { try Task.checkCancellation() }
        } throws: {
            ($0 as? TimedOut)?.timeout == .zero
        }
        await #expect {
            try await withTimeout(-0.5, clock: clock) { try Task.checkCancellation() }
        } throws: {
            ($0 as? TimedOut)?.timeout == .milliseconds(-500)
        }
    }
}
