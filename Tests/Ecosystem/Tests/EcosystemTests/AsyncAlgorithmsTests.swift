// SPDX-License-Identifier: Apache-2.0
import AsyncAlgorithms
import HRTimer
import HRTimerTesting
import Testing

/// The sequences of swift-async-algorithms on our clocks, virtual and real.
@Suite("swift-async-algorithms", .timeLimit(.minutes(5)))
struct AsyncAlgorithmsTests {
    let time = ManualTime(start: MonotonicInstant(nanoseconds: 0))
    let engine: TimerEngine
    let clock: MonotonicClock

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        clock = MonotonicClock(engine: engine)
    }

    /// Waits for the task. Until it is done, moves the clock to the next deadline whenever somebody sleeps.
    private func finish<Value: Sendable>(_ task: Task<Value, Never>) async -> Value {
        let mover = Task {
            while !Task.isCancelled {
                if engine.liveTimers > 0, let next = time.nextDeadline { time.advance(to: next) }
                await Task.yield()
            }
        }
        let value = await task.value
        mover.cancel()
        await mover.value
        return value
    }

    @Test("TestTimer's tick1, tick2 and tick3: a timer sequence ticks every 1, 2 or 3 seconds", arguments: 1...3)
    func timer(step: Int) async {
        let task = Task { [clock] in
            var seen: [Int64] = []
            for await instant in AsyncTimerSequence(interval: .seconds(step), clock: clock).prefix(3) {
                seen.append(instant.nanoseconds / 1_000_000_000)
            }
            return seen
        }
        #expect(await finish(task) == (1...3).map { Int64($0 * step) })
    }

    @Test("TestTimer's tick2_event_skew3: a consumer that takes 3 s for a step of 2 s is done with values at 5 and 8 s")
    func skew() async {
        let task = Task { [clock] in
            var seen: [Int64] = []
            for await _ in AsyncTimerSequence(interval: .seconds(2), clock: clock).prefix(2) {
                try? await clock.sleep(for: .seconds(3))
                seen.append(clock.now.nanoseconds / 1_000_000_000)
            }
            return seen
        }
        #expect(await finish(task) == [5, 8])
    }

    @Test("debounce delivers the last value when no other value has come for the interval")
    func debounce() async {
        let (stream, values) = AsyncStream.makeStream(of: String.self)
        let task = Task { [clock] in
            var seen: [String] = []
            for await value in stream.debounce(for: .seconds(1), clock: clock) {
                seen.append("\(value)@\(clock.now.nanoseconds / 1_000_000_000)")
                if value == "a" { values.yield("b") } else { values.finish() }
            }
            return seen
        }
        values.yield("a")
        #expect(await finish(task) == ["a@1", "b@2"])
    }

    @Test("chunked(by: .repeating) collects the ticks of each interval")
    func chunked() async {
        let ticks = clock.ticks(every: .seconds(2))
        let task = Task { [clock] in
            var sizes: [Int] = []
            for await chunk in ticks.chunked(by: .repeating(every: .seconds(7), clock: clock)).prefix(2) {
                sizes.append(chunk.count)
            }
            return sizes
        }
        // At 2, 4 and 6, then at 8, 10, 12 and 14: a tick may be taken up only after the end of its chunk.
        let sizes = await finish(task)
        #expect(sizes.first.map { (1...3).contains($0) } == true)
        #expect(sizes.last.map { (1...4).contains($0) } == true)
    }

    @Test("throttle lets one value through per interval")
    func throttle() async {
        let ticks = clock.ticks(every: .seconds(1), policy: .burst)
        let task = Task { [clock] in
            var seen: [Int64] = []
            for await tick in ticks._throttle(for: .seconds(3), clock: clock).prefix(3) {
                seen.append(tick.deadline.nanoseconds / 1_000_000_000)
            }
            return seen
        }
        let seen = await finish(task)
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $1 - $0 >= 3 })
        #expect(seen.first == 1)
    }

    @Test("ticks merge and combine like any other sequence, and never fail")
    func merged() async {
        let task = Task { [clock] in
            // Each sequence has an end: on a busy machine time may go on before the tasks of `merge` have taken a tick.
            let fast = clock.ticks(every: .seconds(2), policy: .burst).prefix(5).map { _ in "fast" }
            let slow = clock.ticks(every: .seconds(5), policy: .burst).prefix(2).map { _ in "slow" }
            var count: [String: Int] = [:]
            for await name in merge(fast, slow) { count[name, default: 0] += 1 }
            return count
        }
        let count = await finish(task)
        #expect(count["fast"] == 5 && count["slow"] == 2)
    }

    @Test(
        "On the real clock neither a timer sequence nor a debounced value is early",
        arguments: TimerPrecision.allCases
    )
    func real(precision: TimerPrecision) async {
        let clock = MonotonicClock(precision: precision)
        var deadline = clock.now
        for await instant in AsyncTimerSequence(interval: .milliseconds(1), clock: clock).prefix(20) {
            deadline = deadline + .milliseconds(1)
            #expect(instant >= deadline)
        }
        let begun = clock.now
        let (stream, values) = AsyncStream.makeStream(of: Int.self)
        values.yield(1)
        for await value in stream.debounce(for: .milliseconds(2), clock: clock) {
            #expect(value == 1)
            #expect(clock.now >= begun + .milliseconds(2))
            values.finish()
        }
    }
}
