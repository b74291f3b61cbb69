// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport
import TestTraits
import Testing

@testable import HRTimer
@testable import HRTimerCore

/// The sequences that use a `BurstGate`, in virtual time.
@Suite struct PacedSequenceTests {
    private func source(_ picture: String) -> AsyncThrowingStream<Character, any Error> { Diagram(picture).sequence() }

    @Test("A throttle yields its last element when the period ends, though nothing follows for an hour")
    func last() async throws {
        try await withManualTime { time in
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            var iterator = stream.throttle(for: .seconds(10), on: .monotonic).makeAsyncIterator()
            continuation.yield(1)
            continuation.yield(2)
            let start = time.now
            #expect(await iterator.next(isolation: nil) == 1)
            #expect(await iterator.next(isolation: nil) == 2)
            #expect(start.duration(to: time.now) == .seconds(10))
            // An element after a quiet period passes at once.
            await time.advance(by: .seconds(3600))
            continuation.yield(3)
            #expect(await iterator.next(isolation: nil) == 3)
            #expect(start.duration(to: time.now) == .seconds(3610))
            continuation.finish()
            #expect(await iterator.next(isolation: nil) == nil)
            #expect(await iterator.next(isolation: nil) == nil)
        }
    }

    @Test("A consumer that pauses loses nothing: passed elements come at once, in order", arguments: [true, false])
    func pause(isDebounce: Bool) async throws {
        try await withManualTime { time in
            let elements = source("ab---cd---ef---gh---|")
            var seen: [Character] = []
            let paced: any AsyncSequence<Character, any Error> & Sendable =
                isDebounce
                ? elements.debounce(for: .seconds(2), on: .monotonic)
                : elements.throttle(for: .seconds(2), on: .monotonic)
            for try await element in paced {
                seen.append(element)
                if seen.count == 1 { await time.advance(by: .seconds(1000)) }
            }
            #expect(seen == (isDebounce ? ["b", "d", "f", "h"] : ["a", "b", "c", "d", "e", "f", "g", "h"]))
        }
    }

    @Test("A cancelled consumer gets no more elements, not even those that have passed")
    func backlog() async throws {
        try await withManualTime { time in
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            let task = Task {
                var iterator = stream.throttle(for: .zero, on: .monotonic).makeAsyncIterator()
                var seen: [Int] = []
                while let element = await iterator.next(isolation: nil) {
                    seen.append(element)
                    if element == 1 {
                        try? await Task.sleep(for: .seconds(10), clock: .monotonic)
                        withUnsafeCurrentTask { $0?.cancel() }
                    }
                }
                return seen
            }
            for element in 1...5 { continuation.yield(element) }
            await time.advance(by: .seconds(20))
            #expect(await task.value == [1])
        }
    }

    @Test("An engine that has ended lets no more elements pass", .hangLimit)
    func leadingEngineEnds() async throws {
        let time = ManualTime()
        let engine = try TimerEngine(.init(time: time.base))
        let (stream, continuation) = AsyncStream<Int>.makeStream()
        var iterator = stream.throttle(for: .seconds(1), edges: .leading, on: MonotonicClock(engine: engine))
            .makeAsyncIterator()
        continuation.yield(1)
        #expect(await iterator.next(isolation: nil) == 1)
        await engine.shutdown()
        continuation.yield(2)
        #expect(await iterator.next(isolation: nil) == nil)
    }

    @Test(
        "A debounce or a throttle on the wall clock lets its element pass in time though the clock is set back",
        .hangLimit,
        arguments: [true, false]
    )
    func setBack(isDebounce: Bool) async throws {
        try await withManualTime { time in
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            let paced: any AsyncSequence<Int, Never> & Sendable =
                isDebounce
                ? stream.debounce(for: .seconds(10), on: .wall)
                : stream.throttle(for: .seconds(10), edges: .trailing, on: .wall)
            let seen = Recorder<MonotonicInstant>()
            let task = Task { for await _ in paced { seen.append(time.now) } }
            continuation.yield(1)
            await time.advance(by: .seconds(5))
            let begun = time.now
            await time.setWall(to: time.wallNow - .seconds(3600))
            await time.advance(by: .seconds(5))
            #expect(seen.all == [begun + .seconds(5)])
            // A step forward makes no period shorter.
            continuation.yield(2)
            await time.runUntilIdle()
            await time.setWall(to: time.wallNow + .seconds(7200))
            await time.advance(by: .seconds(9))
            #expect(seen.count == 1)
            await time.advance(by: .seconds(1))
            #expect(seen.count == 2)
            task.cancel()
            await task.value
            try time.checkNothingIsPending()
        }
    }

    @Test("A paced sequence on the wall clock ends with that clock's engine", .hangLimit)
    func ends() async throws {
        try await withManualTime { time in
            let engine = try WallTimerEngine()
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            let task = Task {
                var count = 0
                for await _ in stream.debounce(for: .seconds(10), on: WallClock(engine: engine)) { count += 1 }
                return count
            }
            continuation.yield(1)
            await time.advance(by: .seconds(5))
            await engine.shutdown()
            #expect(await task.value == 0)
        }
    }

    @Test("An error comes once, after the elements that passed, and then the sequence ends")
    func errors() async throws {
        try await withManualTime { time in
            var iterator = source("ab---cd^").throttle(for: .seconds(4), on: .monotonic).makeAsyncIterator()
            await time.advance(by: .seconds(1))
            let first = try await iterator.next()
            await time.advance(by: .seconds(100))
            // The last element still waited for the end of its period when the error came.
            let second = try await iterator.next()
            #expect(first == "a" && second == "b")
            await #expect(throws: Diagram.Failure.self) { try await iterator.next() }
            let last = try await iterator.next()
            #expect(last == nil)
        }
    }

    @Test("Cancelling the consumer ends it and the iteration over the base at once, and leaves nothing pending")
    func cancelled() async throws {
        try await withManualTime { time in
            let ended = Recorder<Bool>()
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            continuation.onTermination = { _ in ended.append(true) }
            continuation.yield(1)
            let task = Task {
                var seen: [Int] = []
                for await element in stream.debounce(for: .seconds(60), on: .monotonic) { seen.append(element) }
                return seen
            }
            await time.advance(by: .seconds(1))
            task.cancel()
            #expect(await task.value == [])
            await time.runUntilIdle()
            #expect(ended.count == 1)
            try time.checkNothingIsPending()
        }
    }

    @Test("Leaving the loop ends the iteration over the base; a sequence that nobody iterates takes no elements")
    func dropped() async throws {
        try await withManualTime { time in
            let ended = Recorder<Bool>()
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            continuation.onTermination = { _ in ended.append(true) }
            let throttled = stream.throttle(for: .seconds(60), on: .monotonic)
            for element in 1...3 { continuation.yield(element) }
            do {
                _ = throttled.makeAsyncIterator()
            }
            await time.runUntilIdle()
            #expect(ended.count == 0)
            for await element in throttled {
                #expect(element == 1)
                break
            }
            await time.runUntilIdle()
            #expect(ended.count == 1)
            try time.checkNothingIsPending()
        }
    }

    @Test("A sequence ends when its engine is shut down")
    func engineEnds() async throws {
        try await withManualTime { time in
            let engine = try TimerEngine()
            let (stream, continuation) = AsyncStream<Int>.makeStream()
            continuation.yield(1)
            let task = Task {
                var seen: [Int] = []
                for await element in stream.debounce(for: .seconds(60), on: MonotonicClock(engine: engine)) {
                    seen.append(element)
                }
                return seen
            }
            await time.advance(by: .seconds(1))
            await engine.shutdown()
            #expect(await task.value == [])
        }
    }

    @Test("A debounce has one timer however many elements come, and its engine wakes once per period")
    func wakes() async throws {
        let time = ManualTime()
        var configuration = TimerEngine.Configuration(time: time.base)
        configuration.defersMoves = true
        let engine = try TimerEngine(configuration)
        let (stream, continuation) = AsyncStream<Int>.makeStream()
        let taken = Recorder<Int>()
        let elements = stream.map { element in
            taken.append(element)
            return element
        }
        let task = Task {
            var seen: [Int] = []
            for await element in elements.debounce(for: .seconds(1), on: MonotonicClock(engine: engine)) {
                seen.append(element)
            }
            return seen
        }
        for element in 1...1000 {
            continuation.yield(element)
            // It is about to be in the gate.
            while taken.count < element { await Task.yield() }
            time.advance(by: .milliseconds(10))
        }
        #expect(engine.liveTimers == 1)
        #expect(engine.statistics.fires <= 11 && engine.statistics.wakeups <= 11)
        continuation.finish()
        #expect(await task.value == [1000])
        #expect(engine.liveTimers == 0)
    }

    @Test("In a loop the last element comes when its period ends, and the loop runs on for it alone")
    func loop() {
        let time = ManualTime()
        let loop = TimerLoop(time: time.base)
        let pacer = Pacer<Int>(BurstGate(.throttle, .both, period_ns: 1_000_000_000), on: loop)
        func run() -> TimerLoop.RunResult { loop.run(for: 10) }
        #expect(run() == .finished)
        for element in 1...3 { #expect(pacer.send(element)) }
        pacer.finish()
        #expect(pacer.take() == 1 && pacer.take() == nil && !pacer.isOver)
        let start = time.now
        #expect(run() == .finished && time.now == start + .seconds(1))
        #expect(pacer.take() == 3 && pacer.take() == nil && pacer.isOver)
        pacer.end()
        #expect(loop.liveTimers == 0)
    }

    @Test("A loop that ends lets no more elements pass, and wakes who waits for one")
    func loopEnds() {
        let loop = TimerLoop(time: ManualTime().base)
        let pacer = Pacer<Int>(BurstGate(.throttle, .leading, period_ns: 1_000_000_000), on: loop)
        let woken = Recorder<Bool>()
        #expect(pacer.wait { woken.append(true) })
        loop.end()
        #expect(woken.count == 1 && pacer.isOver)
        #expect(!pacer.send(1) && pacer.take() == nil)
        #expect(!pacer.wait { woken.append(false) })
    }

    /// Returns what passes and when, computed element by element. Times are in ms; no multiple of the period is one of them.
    private func model(_ isDebounce: Bool, _ edges: BurstEdges, _ times: [Int], _ period: Int, end: Int) -> [Int: Int] {
        var passed: [Int: Int] = [:]
        if isDebounce {
            for (index, time) in times.enumerated() {
                let isFirst = index == 0 || time - times[index - 1] > period
                let isLast = index == times.count - 1 || times[index + 1] - time > period
                if isFirst, edges != .trailing { passed[index] = time }
                if isLast, edges != .leading, !(isFirst && edges == .both) { passed[index] = min(time + period, end) }
            }
            return passed
        }
        var (next, waiting) = (Int.min, Int?.none)
        for (index, time) in times.enumerated() {
            while let first = waiting, next < time {
                (passed[first], waiting) = (next, nil)
                next += period
            }
            if time > next, waiting == nil {
                next = time + period
                if edges == .trailing { waiting = index } else { passed[index] = time }
            } else if edges != .leading {
                waiting = index
            }
        }
        if let last = waiting { passed[last] = next }
        return passed
    }

    @Test("With random elements and random pauses of the consumer, a model predicts what passes and when")
    func random() async throws {
        var random = SeededRandom.fromEnvironment()
        for _ in 0..<60 {
            let isDebounce = Bool.random(using: &random)
            let edges = BurstEdges.allCases.randomElement(using: &random) ?? .both
            let period = Int.random(in: 1...20, using: &random) * 100 + 7
            var times: [Int] = []
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                times.append((times.last ?? 0) + Int.random(in: 1...15, using: &random) * 100)
            }
            let end = (times.last ?? 0) + 50
            let pauses = random.next() % 2 == 0
            let wanted = model(isDebounce, edges, times, period, end: end)
            try await withManualTime { [times] _ in
                let start = MonotonicInstant.now
                let (stream, continuation) = AsyncStream<Int>.makeStream()
                let feeding = Task {
                    for (index, time) in times.enumerated() {
                        try? await Task.sleep(until: start + .milliseconds(time), clock: .monotonic)
                        continuation.yield(index)
                    }
                    try? await Task.sleep(until: start + .milliseconds(end), clock: .monotonic)
                    continuation.finish()
                }
                let paced: any AsyncSequence<Int, Never> & Sendable =
                    isDebounce
                    ? stream.debounce(for: .milliseconds(period), edges: edges, on: .monotonic)
                    : stream.throttle(for: .milliseconds(period), edges: edges, on: .monotonic)
                var seen: [Int: Int] = [:]
                var order: [Int] = []
                for await index in paced {
                    seen[index] = Int(start.duration(to: .now) / .milliseconds(1))
                    order.append(index)
                    if pauses { try? await Task.sleep(for: .milliseconds(333), clock: .monotonic) }
                }
                await feeding.value
                #expect(order == wanted.keys.sorted())
                if !pauses { #expect(seen == wanted) }
                #expect(seen.allSatisfy { index, time in time >= wanted[index] ?? .max })
            }
        }
    }
}
