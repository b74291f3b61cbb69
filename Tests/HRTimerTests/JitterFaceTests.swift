// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer
@testable import HRTimerCore

/// Jitter and phase on the faces: with the same seed, each face makes the calls that an engine's timer makes.
@Suite struct JitterFaceTests {
    let time = ManualTime()
    let engine: TimerEngine
    let start: MonotonicInstant
    let calls = Recorder<MonotonicInstant>()
    let jitter = Jitter.share(0.75, seed: 42)

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        start = time.now
    }

    /// Returns the instants at which an engine's timer on the same grid fires within that many seconds.
    private func wanted(_ seconds: Int, _ jitter: Jitter? = nil) throws -> [MonotonicInstant] {
        let time = ManualTime(start: start)
        let engine = try TimerEngine(.init(time: time.base))
        let fires = Recorder<MonotonicInstant>()
        engine.schedule(after: 1, every: .seconds(1), jitter: jitter ?? self.jitter) { fires.append($0.deadline) }
        time.advance(by: .seconds(seconds))
        return fires.all
    }

    private func record() -> @Sendable () -> Void {
        { [calls, time] in calls.append(time.now) }
    }

    @Test("A source has the jitter that it was given, whenever that was, and has none without an interval")
    func source() throws {
        let source = TimerSource(engine: engine)
        source.setEventHandler(handler: record())
        source.jitter = jitter
        source.schedule(deadline: start + .seconds(1), repeating: .seconds(1))
        source.activate()
        let first = try wanted(3)[0]
        #expect(source.jitter == jitter && source.nextDeadline == first)
        time.advance(by: .seconds(50))
        #expect(try calls.all == wanted(50))
        // Jitter that is set between two calls takes effect at once, on the same grid.
        source.jitter = nil
        #expect(source.nextDeadline == start + .seconds(50) || source.nextDeadline == start + .seconds(51))
        source.jitter = .share(0.75, seed: 43)
        calls.removeAll()
        time.advance(by: .seconds(20))
        #expect(try calls.all.suffix(19) == wanted(70, .share(0.75, seed: 43)).suffix(19))
        source.schedule(deadline: time.now + .seconds(1))
        #expect(source.nextDeadline == time.now + .seconds(1))
    }

    @Test("A source on a queue, on the wall clock and with any policy has jitter too; a missing seed is drawn once")
    func otherSources() throws {
        let queue = DispatchQueue(label: "jitter")
        for policy in [MissedTickPolicy.merge, .burst, .mergeToGrid] {
            calls.removeAll()
            let source = TimerSource(engine: engine, queue: queue)
            source.setEventHandler(handler: record())
            source.policy = policy
            source.jitter = .upTo(.milliseconds(500))
            source.activate()
            let from = time.now
            source.schedule(deadline: from + .seconds(1), repeating: .seconds(1))
            for _ in 0..<200 {
                time.advance(by: .milliseconds(50))
                queue.sync {}
            }
            #expect(calls.count == 9 || calls.count == 10)
            #expect(source.jitter?.seed != nil)
            source.cancel()
        }
        calls.removeAll()
        let wall = TimerSource(engine: engine)
        wall.setEventHandler(handler: record())
        wall.jitter = .share(0.5)
        wall.activate()
        let from = time.now
        wall.schedule(deadline: time.wallNow + .seconds(1), repeating: .seconds(1))
        time.advance(by: .seconds(100) + .milliseconds(500))
        #expect(calls.count == 100)
        for (index, call) in calls.all.enumerated() {
            let delay = (from + .seconds(index + 1)).duration(to: call)
            #expect(delay >= .zero && delay < .milliseconds(500))
        }
    }

    @Test("A call of a precise source that is withdrawn while spinning fires at its deadline, the next on the grid")
    func withdrawnSource() throws {
        let engine = try TimerEngine(.init(precision: .precise, time: time.base))
        let source = TimerSource(engine: engine)
        source.setEventHandler(handler: record())
        source.jitter = jitter
        source.schedule(deadline: start + .seconds(1), repeating: .seconds(1))
        source.activate()
        for deadline in try wanted(20) {
            time.advance(to: deadline - .microseconds(10))
            source.suspend()
            source.resume()
        }
        time.advance(to: start + .seconds(20))
        #expect(try calls.all == wanted(20))
    }

    @Test("A random phase spreads a loop's timers over one interval when they are added, on any clock")
    func loopPhases() {
        let loop = TimerLoop(time: time.base)
        var seen = Set<MonotonicInstant>()
        for number in 0..<60 {
            let timer =
                switch number % 3 {
                case 0:
                    LoopTimer(timeInterval: 60, repeats: true, phase: .random, time: time.base) { [calls, time] _ in
                        calls.append(time.now)
                    }
                case 1:
                    LoopTimer(fireAt: start + .seconds(60), interval: 60, repeats: true, phase: .random) {
                        [calls, time] _ in
                        calls.append(time.now)
                    }
                default:
                    LoopTimer(fireAt: time.wallNow + .seconds(60), interval: 60, repeats: true, phase: .random) {
                        [calls, time] _ in
                        calls.append(time.now)
                    }
                }
            loop.add(timer, forMode: .default)
            let first = timer.fireInstant
            #expect(first >= start + .seconds(60) && first < start + .seconds(120))
            seen.insert(first)
        }
        #expect(seen.count == 60)
        loop.run(until: start + .seconds(180))
        // Two calls of each timer, an interval apart.
        #expect(calls.all == seen.sorted() + seen.sorted().map { $0 + .seconds(60) })
        let once = LoopTimer(timeInterval: 60, repeats: false, phase: .random, time: time.base) { _ in }
        loop.add(once, forMode: .default)
        #expect(once.fireInstant == time.now + .seconds(60))
    }

    @Test("A random phase spreads sources over one interval")
    func phases() throws {
        var seen = Set<MonotonicInstant>()
        for _ in 0..<50 {
            let source = TimerSource(engine: engine)
            source.setEventHandler {}
            source.activate()
            source.schedule(deadline: start + .seconds(1), repeating: .seconds(60), phase: .random)
            let first = try #require(source.nextDeadline)
            #expect(first >= start + .seconds(1) && first < start + .seconds(61))
            seen.insert(first)
            source.cancel()
        }
        #expect(seen.count == 50)
    }

    @Test("A loop's timer has the jitter that it was given, before or after it was added")
    func loopTimer() throws {
        for isAddedFirst in [false, true] {
            let time = ManualTime(start: start)
            let loop = TimerLoop(time: time.base)
            let calls = Recorder<MonotonicInstant>()
            let timer = LoopTimer(fireAt: start + .seconds(1), interval: 1, repeats: true) { _ in calls.append(time.now)
            }
            if isAddedFirst { loop.add(timer, forMode: .default) }
            timer.jitter = jitter
            if !isAddedFirst {
                #expect(timer.fireInstant == start + .seconds(1))
                loop.add(timer, forMode: .default)
            }
            let first = try wanted(3)[0]
            #expect(timer.fireInstant == first && timer.jitter == jitter)
            loop.run(until: start + .seconds(30))
            #expect(try calls.all == wanted(30))
            timer.jitter = nil
            calls.removeAll()
            loop.run(until: start + .seconds(33))
            #expect(calls.all.suffix(3) == [31, 32, 33].map { start + .seconds($0) })
        }
    }

    @Test("Jitter that is set in the handler counts for the next call, also after the handler has moved the timer")
    func inHandler() throws {
        let loop = TimerLoop(time: time.base)
        let second = start + .seconds(100)
        let timer = LoopTimer(fireAt: start + .seconds(1), interval: 1, repeats: true) { [calls, time, jitter] timer in
            calls.append(time.now)
            if calls.count == 1 { timer.jitter = jitter }
            if calls.count == 5 {
                timer.fireInstant = second
                timer.jitter = nil
            }
        }
        loop.add(timer, forMode: .default)
        loop.run(until: start + .seconds(103))
        let wanted = try wanted(10)
        #expect(Array(calls.all.prefix(5)) == [start + .seconds(1)] + wanted[1..<5])
        #expect(Array(calls.all.dropFirst(5)) == [100, 101, 102, 103].map { start + .seconds($0) })
    }

    @Test("A loop's timer that follows the wall clock has jitter too, and steps of the clock move it")
    func followed() {
        let loop = TimerLoop(time: time.base)
        let timer = LoopTimer(fireAt: time.wallNow + .seconds(10), interval: 10, repeats: true) { [calls, time] _ in
            calls.append(time.now)
        }
        timer.jitter = .share(0.5, seed: 1)
        loop.add(timer, forMode: .default)
        loop.run(until: start + .seconds(95))
        #expect(calls.count == 9)
        for (index, call) in calls.all.enumerated() {
            let delay = (start + .seconds(10 * index + 10)).duration(to: call)
            #expect(delay >= .zero && delay < .seconds(5))
        }
        #expect(Set(calls.all.map { $0.nanoseconds % 10_000_000_000 }).count == 9)
        calls.removeAll()
        time.setWall(to: time.wallNow + .seconds(1000))
        loop.run(until: start + .seconds(96))
        #expect(calls.count == 1)
        timer.invalidate()
    }

    @Test("Ticks have the same jitter for each consumer, and a new tempo keeps it within the new interval")
    func ticks() async throws {
        try await withManualTime { time in
            let first = time.now + .seconds(1)
            let ticks = MonotonicClock().ticks(every: .seconds(1), first: first, jitter: Jitter.share(0.75, seed: 42))
            async let others = {
                var deadlines: [MonotonicInstant] = []
                for await tick in ticks.prefix(20) { deadlines.append(tick.deadline) }
                return deadlines
            }()
            var deadlines: [MonotonicInstant] = []
            for await tick in ticks.prefix(20) {
                #expect(tick.lateness == .zero && tick.missedTicks == 0)
                deadlines.append(tick.deadline)
            }
            let same = await others
            #expect(same == deadlines)
            for (index, deadline) in deadlines.enumerated() {
                let delay = (first + .seconds(index)).duration(to: deadline)
                #expect(delay >= .zero && delay < .milliseconds(750))
            }
            #expect(Set(deadlines.map { $0.nanoseconds % 1_000_000_000 }).count == 20)
            ticks.schedule(first: time.now + .seconds(100), every: .milliseconds(100))
            let grid = time.now + .seconds(100)
            var index = 0
            for await tick in ticks.prefix(20) {
                let delay = (grid + .milliseconds(100 * index)).duration(to: tick.deadline)
                #expect(delay >= .zero && delay < .milliseconds(75))
                index += 1
            }
            var spread = Set<MonotonicInstant>()
            for _ in 0..<20 {
                var iterator = MonotonicClock().ticks(every: .seconds(60), first: time.now, phase: .random)
                    .makeAsyncIterator()
                let now = time.now
                let deadline = await iterator.next()?.deadline ?? .distantPast
                #expect(deadline >= now && deadline < now + .seconds(60))
                spread.insert(deadline)
            }
            #expect(spread.count == 20)
        }
    }

    @Test("In virtual time, jitter and phase without a seed follow from the test's seed and repeat in each run")
    func traces() async throws {
        func deadlines(_ seed: UInt64) async throws -> [MonotonicInstant] {
            let seen = Recorder<MonotonicInstant>()
            try await withManualTime(seed: seed) { _ in
                for await tick in MonotonicClock().ticks(every: .seconds(1), jitter: .full, phase: .random).prefix(5) {
                    seen.append(tick.deadline)
                }
            }
            return seen.all
        }
        let (one, same, other) = (try await deadlines(1), try await deadlines(1), try await deadlines(2))
        #expect(one == same && one != other)
    }
}
