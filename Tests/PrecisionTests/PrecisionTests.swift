// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import TestSupport
import Testing

/// How exact timers are on the real clock. Every sample has the lower bound: never early. Only the best of many has an upper
/// one: a busy machine can delay most fires, but it cannot make a coarse timer exact.
@Suite(.serialized) struct PrecisionTests {
    @Test(
        "An engine's timer is never early, and its best fire is less than 100 µs late",
        arguments: ParkStrategy.available
    )
    func engine(_ way: ParkStrategy) throws {
        let engine = try TimerEngine(.init(parkStrategy: way))
        let latenesses = Recorder<Duration>()
        let done = DispatchSemaphore(value: 0)
        engine.schedule(after: .milliseconds(1), every: .milliseconds(1)) { fire in
            latenesses.append(fire.deadline.duration(to: .now))
            if latenesses.count == 300 {
                engine.cancel(fire.token)
                done.signal()
            }
        }
        #expect(done.wait(timeout: .now() + 60) == .success)
        #expect(latenesses.all.allSatisfy { $0 >= .zero })
        #expect(latenesses.all.min()! < atBest(.microseconds(100)))
    }

    @Test("A source's handler is never early, and its best call is less than 100 µs late")
    func source() throws {
        let engine = try TimerEngine()
        let source = TimerSource(engine: engine)
        let latenesses = Recorder<Duration>()
        let done = DispatchSemaphore(value: 0)
        let start = MonotonicInstant.now.advanced(by: .milliseconds(1))
        let ticks = Recorder<UInt>()
        source.setEventHandler { [weak source] in
            let now = MonotonicInstant.now
            ticks.append(source?.data ?? 0)
            let tick = ticks.all.reduce(0, +)
            latenesses.append(start.advanced(by: .milliseconds(1) * Int(tick - 1)).duration(to: now))
            if latenesses.count == 300 { done.signal() }
        }
        source.schedule(deadline: start, repeating: .milliseconds(1))
        source.activate()
        #expect(done.wait(timeout: .now() + 60) == .success)
        source.cancelAndWait()
        #expect(latenesses.all.allSatisfy { $0 >= .zero })
        #expect(latenesses.all.min()! < atBest(.microseconds(100)))
    }

    @Test("Ten precise engines without budgets of their own spin at most 1.25 % of a core together, in the best second")
    func tenEngines() throws {
        let engines = try (0..<10).map { _ in try TimerEngine(.init(precision: .precise)) }
        defer { for engine in engines { engine.shutdown() } }
        let early = Recorder<Duration>()
        for engine in engines {
            engine.schedule(after: .milliseconds(1), every: .milliseconds(1)) { fire in
                if fire.lateness < .zero { early.append(fire.lateness) }
            }
        }
        var best = 1.0
        // After a second the savings of the budget are gone. Under a sanitizer a spin is not worth its cost, and there is none.
        for second in 0..<4 {
            let (begin, before) = (MonotonicInstant.now, engines.reduce(Duration.zero) { $0 + $1.statistics.spinTime })
            blockThread(until: begin.nanoseconds + 1_000_000_000)
            let spun = engines.reduce(Duration.zero) { $0 + $1.statistics.spinTime } - before
            let share = spun / begin.duration(to: .now)
            if second > 0 { best = min(best, share) }
        }
        #expect(early.count == 0)
        #expect(engines.allSatisfy { $0.statistics.fires > 0 })
        // Each engine may finish a spin that it has begun.
        #expect(best <= 0.0125 * 1.1)
    }

    @Test("A precise source's handler on a queue is never early, and at best less than 5 µs late, 10 unoptimized")
    func preciseOnQueue() throws {
        let engine = try TimerEngine(.init(precision: .precise))
        let source = TimerSource(engine: engine, queue: DispatchQueue(label: "precise"))
        let latenesses = Recorder<Duration>()
        let done = DispatchSemaphore(value: 0)
        let start = MonotonicInstant.now.advanced(by: .milliseconds(1))
        let tick = Recorder<UInt>()
        source.setEventHandler { [weak source] in
            let now = MonotonicInstant.now
            tick.append(source?.data ?? 0)
            let ticks = tick.all.reduce(0, +)
            latenesses.append(start.advanced(by: .milliseconds(1) * Int(ticks - 1)).duration(to: now))
            if latenesses.count == 500 { done.signal() }
        }
        source.schedule(deadline: start, repeating: .milliseconds(1))
        source.activate()
        #expect(done.wait(timeout: .now() + 60) == .success)
        source.cancelAndWait()
        #expect(latenesses.all.allSatisfy { $0 >= .zero })
        // A build for debugging takes up to 7 µs from the end of the spin to the handler on a slow processor.
        #expect(latenesses.all.min()! < atBest(.microseconds(_isDebugAssertConfiguration() ? 10 : 5)))
    }

    @Test(
        "A call submitted before its deadline is not made if its source is moved, suspended or cancelled in time"
    )
    func calledOffOnQueue() throws {
        let engine = try TimerEngine(.init(precision: .precise))
        let queue = DispatchQueue(label: "precise")
        var inTime = [0, 0, 0]
        var round = 0
        // Polls the clock up to some µs before the deadline: on a busy machine a sleep until there may last too long.
        while round < 100_000, round < 300 || inTime.min()! < 20 {
            let verb = round % 3
            let source = TimerSource(engine: engine, queue: queue)
            let calls = Recorder<MonotonicInstant>()
            source.setEventHandler { calls.append(.now) }
            let deadline = MonotonicInstant.now.advanced(by: .microseconds(300))
            source.schedule(deadline: deadline)
            source.activate()
            let moment = deadline.advanced(by: .microseconds(-20 - round % 100))
            while MonotonicInstant.now < moment {}
            let later = deadline.advanced(by: .microseconds(500))
            switch verb {
            case 0: source.schedule(deadline: later)
            case 1: source.suspend()
            default: source.cancelAndWait()
            }
            let isInTime = MonotonicInstant.now < deadline
            pause(.milliseconds(1))
            queue.sync {}
            if isInTime {
                inTime[verb] += 1
                // A moved source may be called at its new deadline; any other is not called.
                #expect(calls.all.allSatisfy { verb == 0 && $0 >= later })
            } else {
                // The call was made, or may have begun, before the change.
                #expect(calls.all.allSatisfy { $0 >= deadline })
            }
            source.cancelAndWait()
            round += 1
        }
        #expect(inTime.allSatisfy { $0 >= 20 })
    }

    @Test(
        "A precise link is never early, reads its lateness before the handler, and frees its captures at its end"
    )
    func link() throws {
        final class Captured: Sendable {}
        let worker = try TimerLoop.thread(precision: .precise)
        let latenesses = Recorder<(told: Duration, seen: Duration)>()
        let done = DispatchSemaphore(value: 0)
        var captured: Captured? = Captured()
        let link = DisplayLink(framesPerSecond: 1000) { [captured] link in
            let seen = link.timestamp.duration(to: .now)
            latenesses.append((link.latestLateness, seen))
            if latenesses.count == 300 {
                link.invalidate()
                done.signal()
            }
            withExtendedLifetime(captured) {}
        }
        weak let isCaptured = captured
        captured = nil
        link.add(to: worker.loop, forMode: .default)
        // Each pause withdraws a call that may be waiting for its refresh.
        while done.wait(timeout: .now() + .microseconds(777)) != .success {
            link.isPaused = true
            link.isPaused = false
        }
        worker.shutdown()
        #expect(latenesses.all.allSatisfy { $0.told >= .zero && $0.seen >= .zero })
        // The lateness is by the clock, not by the prepared deadline: few readings fall on that very nanosecond.
        #expect(latenesses.all.count { $0.told > .zero } > latenesses.count / 2)
        // With a lateness of a millisecond or more, the call is for a later refresh than the one that it is late for.
        #expect(latenesses.all.allSatisfy { $0.seen >= $0.told || $0.told >= .milliseconds(1) })
        #expect(latenesses.all.map(\.seen).min()! < atBest(.microseconds(100)))
        #expect(isCaptured == nil)
    }

    @Test("A sleep on the clock is never short, and its best one is less than 200 µs too long")
    func sleep() async throws {
        let clock = MonotonicClock()
        var best = Duration.seconds(1)
        for _ in 0..<200 {
            let deadline = clock.now.advanced(by: .milliseconds(1))
            try await clock.sleep(until: deadline)
            let lateness = deadline.duration(to: clock.now)
            #expect(lateness >= .zero)
            best = min(best, lateness)
        }
        #expect(best < atBest(.microseconds(200)))
    }

    @Test(
        "A precise timer, by its loop or by itself, is never early, and its best fire is less than 100 µs late",
        arguments: [true, false]
    )
    func loopTimer(isOfLoop: Bool) throws {
        let worker = try TimerLoop.thread(precision: isOfLoop ? .precise : .normal)
        let latenesses = Recorder<Duration>()
        let done = DispatchSemaphore(value: 0)
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { timer in
            latenesses.append(timer.fireInstant.duration(to: .now))
            if latenesses.count == 300 {
                timer.invalidate()
                done.signal()
            }
        }
        if !isOfLoop { timer.precision = .precise }
        worker.loop.add(timer, forMode: .default)
        #expect(done.wait(timeout: .now() + 60) == .success)
        worker.shutdown()
        #expect(latenesses.all.allSatisfy { $0 >= .zero })
        #expect(latenesses.all.min()! < atBest(.microseconds(100)))
    }
}
