// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// 48 times a second, in every face: a minute of manual time, each tick exact to the nanosecond.
@Suite struct RationalIntervalTests {
    private let time = ManualTime(start: MonotonicInstant(nanoseconds: 0))
    private let interval = Duration.seconds(1) / 48
    private static let count = 60 * 48
    /// Tick n is n intervals after the first one, which is at 1 s, rounded up to a nanosecond.
    private static let expected = (0..<count).map { at(Int64($0)) }
    private static func at(_ number: Int64) -> Int64 { 1_000_000_000 + (number * 1_000_000_000 + 47) / 48 }
    private let first = MonotonicInstant(nanoseconds: 1_000_000_000)
    private let seen = Recorder<Int64>()

    private func check() {
        #expect(seen.count == Self.count)
        #expect(zip(seen.all, Self.expected).allSatisfy { $0 == $1 })
    }

    private func runForAMinute() { time.advance(to: first.advanced(by: .seconds(60) - .nanoseconds(1))) }

    @Test("An engine's timer fires at exact deadlines", arguments: MissedTickPolicy.allCases)
    func engine(_ policy: MissedTickPolicy) throws {
        let engine = try TimerEngine(.init(time: time.base))
        // A fixed delay counts from the handler's return, each time to a whole nanosecond.
        if policy == .delay { return }
        engine.schedule(at: first, every: interval, policy: policy) { seen.append($0.deadline.nanoseconds) }
        runForAMinute()
        check()
    }

    @Test("A delay counts exactly, too: the grid after a delay of one interval is that of the delay, on every clock")
    func afterDelay() throws {
        for nth in [3, 7, 48, 1001] as [Int64] {
            let interval = Duration.seconds(1) / Int(nth)
            let seen = [Recorder<Int64>(), Recorder(), Recorder(), Recorder()]
            let time = ManualTime(start: MonotonicInstant(nanoseconds: 0), wallStart: WallInstant(nanoseconds: 0))
            let engine = try TimerEngine(.init(time: time.base))
            let wall = try WallTimerEngine(.init(time: time.base))
            engine.schedule(after: interval, every: interval) { seen[0].append($0.deadline.nanoseconds) }
            wall.schedule(after: interval, every: interval) { seen[1].append($0.deadline.nanoseconds) }
            let moved = engine.schedule(at: .distantFuture, every: interval) { seen[2].append($0.deadline.nanoseconds) }
            engine.reschedule(moved, after: interval)
            let movedWall = wall.schedule(at: .distantFuture, every: interval) {
                seen[3].append($0.deadline.nanoseconds)
            }
            wall.reschedule(movedWall, after: interval)
            time.advance(by: .seconds(2))
            let expected = (1...2 * nth).map { ($0 * 1_000_000_000 + nth - 1) / nth }
            for seen in seen { #expect(seen.all == expected, "1/\(nth) s") }
        }
    }

    @Test("A timer that is moved begins a new grid at its new deadline")
    func moved() throws {
        let engine = try TimerEngine(.init(time: time.base))
        let token = engine.schedule(at: first, every: interval) { seen.append($0.deadline.nanoseconds) }
        time.advance(to: first.advanced(by: .milliseconds(30)))
        seen.removeAll()
        engine.reschedule(token, at: first.advanced(by: .milliseconds(500)))
        time.advance(to: first.advanced(by: .milliseconds(600)))
        #expect(seen.all == (0..<5).map { Self.at($0) + 500_000_000 })
    }

    @Test("A source fires at exact deadlines, and its nominal deadlines are exact")
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

    @Test("A loop timer fires at exact deadlines, its interval in seconds or as a duration", arguments: [false, true])
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

    @Test("A frame rate has an exact interval: at 59.94 Hz it is 1001/60000 s")
    func rate() {
        #expect(FrameRate(60_000, 1001).interval == .seconds(1001) / 60_000)
        #expect(FrameRate(48).interval == interval)
    }

    @Test("Ticks have exact deadlines, also for a late consumer")
    func ticks() async throws {
        try await withManualTime(TestTimeOptions(start: MonotonicInstant(nanoseconds: 0))) { _ in
            for policy in [MissedTickPolicy.merge, .burst] {
                let start = MonotonicInstant.now.advanced(by: .seconds(1))
                var number = 0
                for await tick in MonotonicClock().ticks(every: interval, first: start, policy: policy).prefix(200) {
                    let expected_ns = start.nanoseconds - 1_000_000_000 + Self.at(Int64(number))
                    #expect(tick.deadline.nanoseconds == expected_ns)
                    // A merged tick reports its first deadline.
                    number += 1 + tick.missedTicks
                    if number % 50 == 0 { try await Task.sleep(for: .milliseconds(70), clock: .monotonic) }
                }
            }
        }
    }

    @Test("A loop's timer whose first interval counts from its creation is not early by a part of a nanosecond")
    func firstOfLoopTimer() {
        let loop = TimerLoop(time: time.base)
        time.advance(to: first)
        let timer = LoopTimer(timeInterval: interval, repeats: true, time: time.base) {
            seen.append($0.fireInstant.nanoseconds)
        }
        loop.add(timer, forMode: .default)
        loop.run(until: first.advanced(by: .milliseconds(100)))
        #expect(seen.all == (1...4).map { Self.at($0) })
        // The rest of a fraction does not carry over to a new grid.
        timer.fireInstant = first.advanced(by: .seconds(1))
        seen.removeAll()
        loop.run(until: first.advanced(by: .milliseconds(1050)))
        #expect(seen.all == (0...2).map { Self.at($0) + 1_000_000_000 })
        timer.invalidate()
    }

    @Test("Ticks that begin with the first wait or with a new grid are not early by a part of a nanosecond")
    func firstOfTicks() async throws {
        let engine = try TimerEngine(.init(time: time.base))
        let ticks = MonotonicClock(engine: engine).ticks(every: interval)
        var iterator = ticks.makeAsyncIterator()
        for begin in [first, first.advanced(by: .seconds(1))] {
            time.advance(to: begin)
            if begin > first { ticks.schedule(every: interval) }
            async let moved: Void = {
                while engine.liveTimers == 0 { await Task.yield() }
                time.advance(to: begin.advanced(by: interval + .nanoseconds(1)))
            }()
            seen.append(await iterator.next()?.deadline.nanoseconds ?? 0)
            await moved
            for number in 2...4 {
                time.advance(to: begin.advanced(by: interval * number + .nanoseconds(1)))
                seen.append(await iterator.next()?.deadline.nanoseconds ?? 0)
            }
        }
        #expect(seen.all == [0, 1_000_000_000].flatMap { later in (1...4).map { Self.at($0) + later } })
    }

    // A day, most of which passes in the handlers: each call takes up to a minute.

    struct Rate: Sendable, CustomStringConvertible {
        let seconds: Int64
        let parts: Int64

        var interval: Duration { .seconds(seconds) / Int(parts) }
        var description: String { "\(parts)/\(seconds) Hz" }
        var ticksInADay: Int64 { 86_400 * parts / seconds }

        /// Returns the instant of tick `number`, counted from `first_ns` and rounded up.
        func at_ns(_ number: Int64, from first_ns: Int64) -> Int64 {
            let (whole, rest) = (Int128(number) * Int128(seconds) * 1_000_000_000)
                .quotientAndRemainder(dividingBy: Int128(parts))
            return first_ns + Int64(rest > 0 ? whole + 1 : whole)
        }
    }

    static let rates = [
        Rate(seconds: 1, parts: 48), Rate(seconds: 1001, parts: 60_000), Rate(seconds: 1, parts: 144),
    ]
    private let missed = Recorder<Int>()

    /// Takes a different time in each call.
    private func takeLong() {
        time.advance(by: .nanoseconds(Int64(missed.count) &* 7_777_777_777 % 61_000_000_000))
    }

    /// Checks that each call was for the tick after those that earlier calls were for or reported as missed.
    private func checkDay(_ rate: Rate) {
        var number: Int64 = 0
        var wrong = 0
        for (deadline_ns, missed) in zip(seen.all, missed.all) {
            if deadline_ns != rate.at_ns(number, from: first.nanoseconds) { wrong += 1 }
            number += Int64(missed) + 1
        }
        #expect(wrong == 0)
        #expect(seen.count > 1000)
        #expect(number >= rate.ticksInADay)
    }

    @Test("An engine's timer stays exact for a day", arguments: rates)
    func dayOfEngine(_ rate: Rate) throws {
        let engine = try TimerEngine(.init(time: time.base))
        engine.schedule(at: first, every: rate.interval) {
            seen.append($0.deadline.nanoseconds)
            missed.append($0.missedTicks)
            takeLong()
        }
        time.advance(to: first.advanced(by: .seconds(86_400)))
        // A late tick is merged when its call is made.
        time.advance(by: rate.interval * 2)
        checkDay(rate)
    }

    @Test("A source stays exact for a day", arguments: rates)
    func dayOfSource(_ rate: Rate) throws {
        let engine = try TimerEngine(.init(time: time.base))
        let source = TimerSource(engine: engine)
        source.schedule(deadline: first, repeating: rate.interval)
        let next = Recorder<Int64>()
        seen.append(first.nanoseconds)
        source.setEventHandler { [unowned source] in
            missed.append(Int(source.data) - 1)
            next.append(source.nextDeadline?.nanoseconds ?? 0)
            takeLong()
        }
        source.activate()
        time.advance(to: first.advanced(by: .seconds(86_400)))
        time.advance(by: rate.interval * 2)
        next.all.dropLast().forEach { seen.append($0) }
        checkDay(rate)
        source.cancel()
    }

    @Test("A loop's timer stays exact for a day", arguments: rates)
    func dayOfLoopTimer(_ rate: Rate) {
        let loop = TimerLoop(time: time.base)
        let timer = LoopTimer(fireAt: first, interval: rate.interval, repeats: true, policy: .merge) {
            seen.append($0.fireInstant.nanoseconds)
            missed.append($0.missedTicks)
            takeLong()
        }
        loop.add(timer, forMode: .default)
        loop.run(until: first.advanced(by: .seconds(86_400 + 62)))
        checkDay(rate)
        timer.invalidate()
    }

    @Test("A display link stays exact for a day", arguments: rates + [Rate(seconds: 1000, parts: 119_881)])
    func dayOfLink(_ rate: Rate) {
        let loop = TimerLoop(time: time.base)
        let start_ns = time.now.nanoseconds
        let link = DisplayLink(frameRate: FrameRate(rate.parts, rate.seconds)) {
            seen.append($0.timestamp.nanoseconds)
            seen.append($0.targetTimestamp.nanoseconds)
            missed.append(0)
            takeLong()
        }
        link.add(to: loop, forMode: .default)
        loop.run(until: time.now.advanced(by: .seconds(86_400 + 62)))
        var wrong = 0
        for refresh_ns in seen.all {
            let number = (Double(refresh_ns - start_ns) / 1e9 * Double(rate.parts) / Double(rate.seconds)).rounded()
            if refresh_ns != rate.at_ns(Int64(number), from: start_ns) { wrong += 1 }
        }
        #expect(wrong == 0)
        #expect(seen.count > 2000)
        #expect((seen.all.last ?? 0) >= start_ns + 86_400_000_000_000)
        link.invalidate()
    }

    @Test("Ticks stay exact for a day", arguments: rates)
    func dayOfTicks(_ rate: Rate) async throws {
        let engine = try TimerEngine(.init(time: time.base))
        var ticks = MonotonicClock(engine: engine).ticks(every: rate.interval, first: first).makeAsyncIterator()
        time.advance(to: first)
        while time.now < first.advanced(by: .seconds(86_400)) {
            guard let tick = await ticks.next() else { break }
            seen.append(tick.deadline.nanoseconds)
            missed.append(tick.missedTicks)
            // At least one interval, so that the next tick is there.
            time.advance(by: rate.interval * 2)
            takeLong()
        }
        if let last = await ticks.next() {
            seen.append(last.deadline.nanoseconds)
            missed.append(last.missedTicks)
        }
        checkDay(rate)
    }
}
