import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// 48 times a second, in every face: a minute of frozen time, each tick exact to the nanosecond.
@Suite struct RationalIntervalTests {
    private let time = ManualTime(start: MonotonicInstant(nanoseconds: 0))
    private let interval = Duration.seconds(1) / 48
    private static let count = 60 * 48
    /// Tick n is n intervals after the first one, at 1 s, rounded up.
    private static let expected = (0..<count).map { at(Int64($0)) }
    private static func at(_ number: Int64) -> Int64 { 1_000_000_000 + (number * 1_000_000_000 + 47) / 48 }
    private let first = MonotonicInstant(nanoseconds: 1_000_000_000)
    private let seen = Recorder<Int64>()

    private func check() {
        #expect(seen.count == Self.count)
        #expect(zip(seen.all, Self.expected).allSatisfy { $0 == $1 })
    }

    private func runForAMinute() { time.advance(to: first.advanced(by: .seconds(60) - .nanoseconds(1))) }

    @Test("A timer of an engine", arguments: MissedTickPolicy.allCases)
    func engine(_ policy: MissedTickPolicy) throws {
        let engine = try TimerEngine(.init(time: time.base))
        // A fixed delay counts from the handler's return, to a whole nanosecond each time.
        if policy == .delay { return }
        engine.schedule(at: first, every: interval, policy: policy) { seen.append($0.deadline.nanoseconds) }
        runForAMinute()
        check()
    }

    @Test("One that is moved begins a new grid with its new deadline")
    func moved() throws {
        let engine = try TimerEngine(.init(time: time.base))
        let token = engine.schedule(at: first, every: interval) { seen.append($0.deadline.nanoseconds) }
        time.advance(to: first.advanced(by: .milliseconds(30)))
        seen.removeAll()
        engine.reschedule(token, at: first.advanced(by: .milliseconds(500)))
        time.advance(to: first.advanced(by: .milliseconds(600)))
        #expect(seen.all == (0..<5).map { Self.at($0) + 500_000_000 })
    }

    @Test("A source, and its nominal deadlines")
    func source() throws {
        let engine = try TimerEngine(.init(time: time.base))
        let source = TimerSource(engine: engine)
        source.schedule(deadline: first, repeating: interval)
        source.setEventHandler { [time] in seen.append(time.now.nanoseconds) }
        source.activate()
        runForAMinute()
        check()
        #expect(source.nextDeadline?.nanoseconds == 61_000_000_000)
        source.cancel()
    }

    @Test("A timer of a loop, its interval in seconds or as a duration", arguments: [false, true])
    func loopTimer(_ isNumber: Bool) throws {
        let loop = TimerLoop(time: time.base)
        let block: LoopTimer.Block = { seen.append($0.fireInstant.nanoseconds) }
        let timer =
            isNumber
            ? LoopTimer(fireAt: first, interval: 1.0 / 48, repeats: true, block: block)
            : LoopTimer(fireAt: first, interval: interval, repeats: true, block: block)
        loop.add(timer, forMode: .default)
        loop.run(until: first.advanced(by: .seconds(60) - .nanoseconds(1)))
        check()
        #expect(abs(timer.timeInterval * 48 - 1) < 1e-15)
        timer.invalidate()
    }

    @Test("A rate tells its interval: 59.94 Hz is 1001/60000 s")
    func rate() {
        #expect(FrameRate(60_000, 1001).interval == .seconds(1001) / 60_000)
        #expect(FrameRate(48).interval == interval)
    }

    @Test("Ticks, for who comes late too")
    func ticks() async throws {
        try await withManualTime(TestTimeOptions(start: MonotonicInstant(nanoseconds: 0))) { _ in
            for policy in [MissedTickPolicy.merge, .burst] {
                let start = MonotonicInstant.now.advanced(by: .seconds(1))
                var number = 0
                for await tick in MonotonicClock().ticks(every: interval, first: start, policy: policy).prefix(200) {
                    let expected_ns = start.nanoseconds - 1_000_000_000 + Self.at(Int64(number))
                    #expect(tick.deadline.nanoseconds == expected_ns)
                    // A merged tick tells its first deadline.
                    number += 1 + tick.missedTicks
                    if number % 50 == 0 { try await Task.sleep(for: .milliseconds(70), clock: .monotonic) }
                }
            }
        }
    }
}
