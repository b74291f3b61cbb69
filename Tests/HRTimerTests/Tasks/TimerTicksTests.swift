// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import Seeded
import TestSupport
import TestTraits
import Testing

/// Tests of `TimerTicks` on frozen time.
@Suite("Ticks", .hangLimit)
struct TimerTicksTests {
    typealias Ticks = TimerTicks<MonotonicInstant>

    let time = ManualTime(start: MonotonicInstant(nanoseconds: 0))
    let engine: TimerEngine
    let clock: MonotonicClock

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        clock = MonotonicClock(engine: engine)
    }

    private func sleepersAre(_ count: Int) async {
        while engine.liveTimers != count { await Task.yield() }
    }

    /// Returns the next tick; advances the clock by `duration` as soon as the iterator's timer is armed.
    private func next(_ iterator: inout Ticks.Iterator, moving duration: Duration) async -> TimerTick<MonotonicInstant>?
    {
        async let moved: Void = {
            await sleepersAre(1)
            time.advance(by: duration)
        }()
        let tick = await iterator.next()
        await moved
        return tick
    }

    private func ms(_ instant: MonotonicInstant?) -> Int64? { instant.map { $0.nanoseconds / 1_000_000 } }

    @Test("form a grid whose first tick comes one interval after the first wait")
    func grid() async {
        let ticks = clock.ticks(every: .milliseconds(10))
        time.advance(by: .milliseconds(3))
        var iterator = ticks.makeAsyncIterator()
        for deadline in [13, 23, 33] as [Int64] {
            let tick = await next(&iterator, moving: .milliseconds(10))
            #expect(ms(tick?.deadline) == deadline)
            #expect(tick?.lateness == .zero)
            #expect(tick?.missedTicks == 0)
        }
        #expect(engine.liveTimers == 0)
    }

    @Test(
        "keep a new schedule whose interval is changed before its first tick",
        arguments: [MissedTickPolicy.merge, .delay]
    )
    func scheduledThenInterval(_ policy: MissedTickPolicy) async {
        let ticks = clock.ticks(every: .milliseconds(10), policy: policy)
        var iterator = ticks.makeAsyncIterator()
        for _ in 0..<10 { _ = await next(&iterator, moving: .milliseconds(10)) }
        #expect(ms(time.now) == 100)
        ticks.schedule(first: MonotonicInstant(nanoseconds: 200_000_000), every: .milliseconds(50))
        ticks.interval = .milliseconds(20)
        #expect(ms(await next(&iterator, moving: .milliseconds(100))?.deadline) == 200)
        #expect(ms(await next(&iterator, moving: .milliseconds(20))?.deadline) == 220)
    }

    @Test("end when the engine is shut down, even for a consumer that is behind")
    func endsWithEngine() async {
        var iterator = clock.ticks(every: .milliseconds(10)).makeAsyncIterator()
        _ = await next(&iterator, moving: .milliseconds(10))
        time.advance(by: .seconds(1))
        await engine.shutdown()
        let tick = await iterator.next()
        #expect(tick == nil)
    }

    @Test("begin at a given instant, and count missed ticks from one in the past")
    func first() async {
        time.advance(by: .milliseconds(100))
        var ahead = clock.ticks(every: .milliseconds(10), first: MonotonicInstant(nanoseconds: 107_000_000))
            .makeAsyncIterator()
        #expect(ms(await next(&ahead, moving: .milliseconds(7))?.deadline) == 107)
        #expect(ms(await next(&ahead, moving: .milliseconds(10))?.deadline) == 117)
        var past = clock.ticks(every: .milliseconds(10), first: MonotonicInstant(nanoseconds: 82_000_000))
            .makeAsyncIterator()
        let tick = await past.next()
        #expect(ms(tick?.deadline) == 82)
        #expect(tick?.lateness == .milliseconds(35))
        #expect(tick?.missedTicks == 3)
    }

    /// Returns the ticks of a consumer that is busy with its first tick from 10 to 37 ms, at an interval of 10 ms. Each is
    /// written as "deadline@firedAt+missedTicks", in milliseconds.
    private func overrun(_ policy: MissedTickPolicy) async -> [String] {
        var iterator = clock.ticks(every: .milliseconds(10), policy: policy).makeAsyncIterator()
        _ = await next(&iterator, moving: .milliseconds(10))
        time.advance(by: .milliseconds(27))
        var seen: [String] = []
        while time.now.nanoseconds < 60_000_000 {
            let ticked = Recorder<Bool>()
            async let moved: Void = {
                while ticked.count == 0 {
                    if engine.liveTimers == 1, let next = time.nextDeadline { time.advance(to: next) }
                    await Task.yield()
                }
            }()
            let tick = await iterator.next()
            ticked.append(true)
            await moved
            seen.append("\(ms(tick?.deadline) ?? -1)@\(ms(tick?.firedAt) ?? -1)+\(tick?.missedTicks ?? -1)")
        }
        return seen
    }

    @Test(
        "are merged, delivered late, skipped or delayed if they are missed, as the policy says (case 31)",
        arguments: [
            (.merge, ["20@37+1", "40@40+0", "50@50+0", "60@60+0"]),
            (.mergeToGrid, ["40@40+2", "50@50+0", "60@60+0"]),
            (.burst, ["20@37+0", "30@37+0", "40@40+0", "50@50+0", "60@60+0"]),
            (.skip, ["40@40+2", "50@50+0", "60@60+0"]),
            (.delay, ["47@47+0", "57@57+0"]),
        ] as [(MissedTickPolicy, [String])]
    )
    func policies(policy: MissedTickPolicy, expected: [String]) async {
        let seen = await overrun(policy)
        #expect(Array(seen.prefix(expected.count)) == expected)
    }

    @Test("swift-async-algorithms' tick2_event_skew3: under burst a slow consumer gets its ticks at 5 and 8 s")
    func skew() async {
        var iterator = clock.ticks(every: .seconds(2), policy: .burst).makeAsyncIterator()
        var seen: [MonotonicInstant] = []
        if let tick = await next(&iterator, moving: .seconds(2)) { seen.append(tick.firedAt) }
        for _ in 0..<2 {
            // The consumer takes three seconds for each.
            time.advance(by: .seconds(3))
            if let tick = await iterator.next() { seen.append(tick.firedAt) }
        }
        #expect(seen.map { $0.nanoseconds / 1_000_000_000 } == [2, 5, 8])
    }

    @Test("keep their phase when the interval changes, whether nobody waits or a consumer sleeps")
    func tempo() async {
        let ticks = clock.ticks(every: .milliseconds(100))
        var iterator = ticks.makeAsyncIterator()
        #expect(ms(await next(&iterator, moving: .milliseconds(100))?.deadline) == 100)
        // A quarter of the interval has gone: three quarters of the new one are left.
        time.advance(by: .milliseconds(25))
        ticks.interval = .milliseconds(200)
        #expect(ticks.interval == .milliseconds(200))
        #expect(ms(await next(&iterator, moving: .milliseconds(150))?.deadline) == 275)
        #expect(ms(await next(&iterator, moving: .milliseconds(200))?.deadline) == 475)
        // The same while the consumer sleeps: the change wakes it.
        async let moved: Void = {
            await sleepersAre(1)
            time.advance(by: .milliseconds(150))
            ticks.interval = .milliseconds(100)
            await sleepersAre(1)
            while time.nextDeadline != MonotonicInstant(nanoseconds: 650_000_000) { await Task.yield() }
            time.advance(by: .milliseconds(25))
        }()
        let tick = await iterator.next()
        await moved
        #expect(ms(tick?.deadline) == 650)
        #expect(tick?.missedTicks == 0)
        #expect(tick?.lateness == .zero)
    }

    @Test("count the phase from nominal deadlines: changes at each tick do not add up how late the ticks came")
    func tempoAtEachTick() async throws {
        let ticks = clock.ticks(every: .milliseconds(20), first: time.now + .milliseconds(20), policy: .burst)
        var iterator = ticks.makeAsyncIterator()
        var nominal = time.now
        var interval = Duration.milliseconds(20)
        var random = SeededRandom.fromEnvironment()
        for pulse in 1...480 {
            nominal += interval
            // Each tick comes late, by up to half its interval: another timer's handler runs first.
            let late = Duration.microseconds(Int64.random(in: 0..<5000, using: &random))
            engine.schedule(at: nominal) { [time] _ in time.advance(by: late) }
            async let moved: Void = {
                await sleepersAre(2)
                time.advance(to: nominal)
            }()
            let tick = await iterator.next()
            await moved
            try #require(tick?.deadline == nominal)
            #expect(tick?.lateness == late)
            #expect(tick?.missedTicks == 0)
            // A change that another one follows at once leaves no trace.
            if pulse.isMultiple(of: 7) { ticks.interval = .milliseconds(15) }
            interval = .microseconds(20_000 - 20 * pulse)
            ticks.interval = interval
        }
    }

    @Test(
        "begin a new interval when the consumer comes back, with the delay policy, if it was set while the consumer worked"
    )
    func delayTempoAtEachTick() async {
        let ticks = clock.ticks(every: .milliseconds(100), policy: .delay)
        var iterator = ticks.makeAsyncIterator()
        _ = await next(&iterator, moving: .milliseconds(100))
        time.advance(by: .milliseconds(10))
        ticks.interval = .milliseconds(50)
        time.advance(by: .milliseconds(30))
        #expect(ms(await next(&iterator, moving: .milliseconds(50))?.deadline) == 190)
    }

    @Test(
        "are counted in the next tick if they were missed before a change of the interval",
        arguments: [.merge, .burst, .skip] as [MissedTickPolicy]
    )
    func missedBeforeTempo(policy: MissedTickPolicy) async {
        let ticks = clock.ticks(every: .milliseconds(100), policy: policy)
        var iterator = ticks.makeAsyncIterator()
        _ = await next(&iterator, moving: .milliseconds(100))
        // 200 and 300 pass; 400 would be next, half an interval away.
        time.advance(by: .milliseconds(250))
        ticks.interval = .milliseconds(20)
        ticks.interval = .milliseconds(40)
        let tick = await next(&iterator, moving: .milliseconds(20))
        #expect(ms(tick?.deadline) == 370)
        #expect(tick?.missedTicks == 2)
    }

    @Test("keep their phase with the delay policy too when the interval changes")
    func delayTempo() async {
        let ticks = clock.ticks(every: .milliseconds(100), policy: .delay)
        var iterator = ticks.makeAsyncIterator()
        _ = await next(&iterator, moving: .milliseconds(100))
        time.advance(by: .milliseconds(30))
        async let moved: Void = {
            await sleepersAre(1)
            time.advance(by: .milliseconds(50))
            ticks.interval = .milliseconds(10)
            while time.nextDeadline != MonotonicInstant(nanoseconds: 185_000_000) { await Task.yield() }
            time.advance(by: .milliseconds(5))
        }()
        #expect(ms(await iterator.next()?.deadline) == 185)
        await moved
    }

    @Test("come only from the new schedule after a reschedule")
    func schedule() async {
        let ticks = clock.ticks(every: .milliseconds(10))
        var iterator = ticks.makeAsyncIterator()
        _ = await next(&iterator, moving: .milliseconds(10))
        time.advance(by: .milliseconds(95))
        ticks.schedule(first: MonotonicInstant(nanoseconds: 200_000_000), every: .milliseconds(50))
        let tick = await next(&iterator, moving: .milliseconds(95))
        #expect(ms(tick?.deadline) == 200)
        #expect(tick?.missedTicks == 0)
        ticks.schedule(every: .milliseconds(7))
        #expect(ms(await next(&iterator, moving: .milliseconds(7))?.deadline) == 207)
    }

    @Test("keep the rest of the present interval in proportion, even a nanosecond, when the interval changes")
    func proportion() async {
        let ticks = clock.ticks(every: .milliseconds(10))
        var iterator = ticks.makeAsyncIterator()
        _ = await next(&iterator, moving: .milliseconds(10))
        time.advance(by: .milliseconds(10) - .nanoseconds(1))
        ticks.interval = .milliseconds(50)
        let tick = await next(&iterator, moving: .milliseconds(1))
        #expect(tick?.deadline == MonotonicInstant(nanoseconds: 20_000_004))
    }

    @Test("end for all iterators when cancelled, at once and for good, even if some are due")
    func cancel() async {
        let ticks = clock.ticks(every: .milliseconds(10))
        var due = ticks.makeAsyncIterator()
        _ = await next(&due, moving: .milliseconds(10))
        let sleeping = Task {
            var iterator = ticks.makeAsyncIterator()
            return await iterator.next()
        }
        await sleepersAre(1)
        ticks.cancel()
        #expect(ticks.isCancelled)
        #expect(await sleeping.value == nil)
        #expect(engine.liveTimers == 0)
        time.advance(by: .seconds(1))
        #expect(await due.next() == nil)
        #expect(await due.next() == nil)
        var late = ticks.makeAsyncIterator()
        #expect(await late.next() == nil)
    }

    @Test("end for a cancelled task at once and for good, even if some are due")
    func cancelledTask() async {
        let ticks = clock.ticks(every: .milliseconds(10), first: time.now)
        let sleeping = Task {
            var seen = 0
            for await _ in ticks { seen += 1 }
            return seen
        }
        await sleepersAre(1)
        sleeping.cancel()
        #expect(await sleeping.value == 1)
        #expect(engine.liveTimers == 0)
        let due = Task {
            while !Task.isCancelled { await Task.yield() }
            var iterator = ticks.makeAsyncIterator()
            return [await iterator.next(), await iterator.next()]
        }
        time.advance(by: .seconds(1))
        due.cancel()
        #expect(await due.value == [nil, nil])
    }

    @Test("end when their engine shuts down")
    func engineEnds() async {
        let ticks = clock.ticks(every: .milliseconds(10))
        let task = Task {
            for await _ in ticks {}
        }
        await sleepersAre(1)
        await engine.shutdown()
        await task.value
    }

    @Test("follow one grid for all iterators, each of which advances at its own pace")
    func several() async {
        let ticks = clock.ticks(every: .milliseconds(10))
        var one = ticks.makeAsyncIterator()
        var other = ticks.makeAsyncIterator()
        #expect(ms(await next(&one, moving: .milliseconds(10))?.deadline) == 10)
        time.advance(by: .milliseconds(25))
        // A new iterator begins with the next tick of the grid.
        #expect(ms(await next(&other, moving: .milliseconds(5))?.deadline) == 40)
        let tick = await one.next()
        #expect(ms(tick?.deadline) == 20)
        #expect(tick?.missedTicks == 2)
    }

    @Test("use no timer while nobody waits for them, and never more than one per iterator")
    func noBuffer() async {
        let ticks = clock.ticks(every: .nanoseconds(1), policy: .burst)
        var iterator = ticks.makeAsyncIterator()
        _ = await next(&iterator, moving: .nanoseconds(1))
        time.advance(by: .seconds(3600))
        #expect(engine.statistics.fires == 1)
        #expect(engine.liveTimers == 0)
        #expect(await iterator.next()?.deadline.nanoseconds == 2)
        #expect(await iterator.next()?.deadline.nanoseconds == 3)
    }

    @Test("accept any interval", arguments: [.zero, .seconds(-1), .seconds(Int64.max)] as [Duration])
    func anyInterval(interval: Duration) async {
        let ticks = clock.ticks(every: interval)
        #expect(ticks.interval == (interval > .zero ? .nanoseconds(Int64.max) : .microseconds(100)))
        if interval <= .zero {
            var iterator = ticks.makeAsyncIterator()
            #expect(await next(&iterator, moving: .microseconds(100))?.deadline == time.now)
        }
        ticks.interval = .milliseconds(1)
        ticks.schedule(first: .distantFuture, every: interval)
        ticks.interval = .milliseconds(1)
        ticks.schedule(first: .distantPast, every: interval)
        ticks.interval = .milliseconds(1)
        var iterator = ticks.makeAsyncIterator()
        let tick = await next(&iterator, moving: .milliseconds(2))
        #expect(tick.map { $0.deadline <= time.now } == true)
        ticks.cancel()
    }

    @Test("follow the steps of the wall clock")
    func wall() async throws {
        let engine = try WallTimerEngine(.init(time: time.base))
        let start = time.wallNow
        let ticks = WallClock(engine: engine).ticks(every: .seconds(10))
        async let moved: Void = {
            while engine.liveTimers != 1 { await Task.yield() }
            time.setWall(to: start + .seconds(35))
        }()
        var iterator = ticks.makeAsyncIterator()
        let tick = await iterator.next()
        await moved
        #expect(tick?.deadline == start + .seconds(10))
        #expect(tick?.missedTicks == 2)
    }
}
