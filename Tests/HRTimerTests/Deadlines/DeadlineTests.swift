// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestTraits
import Testing

/// `withDeadline` on frozen time.
@Suite("Deadlines", .hangLimit)
struct DeadlineTests {
    let time = ManualTime()
    let engine: TimerEngine
    let clock: MonotonicClock

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        clock = MonotonicClock(engine: engine)
    }

    struct Refusal: Error, Equatable {}

    /// Suspends until the calling task is cancelled, and throws then.
    private func untilCancelled() async throws(CancellationError) {
        let stream = AsyncStream<Never> { _ in }
        for await _ in stream {}
        throw CancellationError()
    }

    private func timersAre(_ count: Int) async {
        while engine.liveTimers != count { await Task.yield() }
    }

    /// Advances the clock as soon as `timers` timers are armed.
    private func move(by duration: Duration, timers: Int = 1) async {
        await timersAre(timers)
        time.advance(by: duration)
    }

    @Test("pass on the operation's result, and its error with the error's type")
    func results() async {
        #expect(await withDeadline(in: .seconds(1), clock: clock) { 5 } == 5)
        do throws(Refusal) {
            try await withDeadline(in: .seconds(1), clock: clock) { () async throws(Refusal) in throw Refusal() }
            Issue.record("it must throw")
        } catch {
            #expect(error == Refusal())
        }
    }

    @Test("return noncopyable values")
    func noncopyable() async {
        struct Ticket: ~Copyable { let number: Int }
        let ticket = await withDeadline(in: .seconds(1), clock: clock) {
            await Task.yield()
            return Ticket(number: 7)
        }
        #expect(ticket.number == 7)
    }

    @Test("cancel the operation when they have passed, not a nanosecond before, and not the calling task")
    func expires() async {
        async let moved: Void = {
            await timersAre(1)
            time.advance(by: .seconds(5) - .nanoseconds(1))
            #expect(engine.liveTimers == 1)
            time.advance(by: .nanoseconds(1))
        }()
        await #expect(throws: CancellationError.self) {
            try await withDeadline(in: .seconds(5), clock: clock) { try await untilCancelled() }
        }
        await moved
        #expect(!Task.isCancelled)
        #expect(engine.liveTimers == 0)
    }

    @Test("wait for an operation that ignores its cancellation, and return its result")
    func waits() async {
        async let moved: Void = move(by: .seconds(5))
        let value = await withDeadline(in: .seconds(1), clock: clock) {
            try? await untilCancelled()
            // The operation ends long after its deadline.
            for _ in 0..<3 { await Task.yield() }
            return clock.now
        }
        await moved
        #expect(value == time.now)
    }

    @Test(
        "cancel the operation before it begins if they have passed, but it runs nevertheless",
        arguments: [0, -1] as [Int64]
    )
    func past(offset_ns: Int64) async {
        let deadline = time.now.advanced(by: .nanoseconds(offset_ns))
        let (wasCancelled, value) = await withDeadline(deadline, clock: clock) { (Task.isCancelled, 3) }
        #expect(wasCancelled)
        #expect(value == 3)
        #expect(await withDeadline(.distantPast, clock: clock) { Task.isCancelled })
    }

    @Test("arm no timer if they are in the distant future")
    func never() async {
        await withDeadline(.distantFuture, clock: clock) {
            for _ in 0..<10 { await Task.yield() }
            #expect(engine.liveTimers == 0)
        }
    }

    /// Returns how many timers `body` made in the engine, computed from the generations of a slot.
    private func timersMade(_ body: () async throws -> Void) async rethrows -> Int {
        let before = engine.schedule(at: .distantFuture) { _ in }
        engine.cancel(before)
        try await body()
        let after = engine.schedule(at: .distantFuture) { _ in }
        engine.cancel(after)
        // The timers took one slot again and again, each time with a new generation.
        #expect(before.slot == after.slot)
        return Int(after.generation - before.generation) / generationsPerTimer() - 1
    }

    private func generationsPerTimer() -> Int {
        let tokens = (0..<2).map { _ in
            let token = engine.schedule(at: .distantFuture) { _ in }
            engine.cancel(token)
            return token
        }
        return Int(tokens[1].generation - tokens[0].generation)
    }

    @Test("are armed once, before the operation begins, and leave no timer, on actors and the main actor too")
    func armed() async throws {
        let counter = Counter()
        let made = await timersMade {
            await withDeadline(in: .seconds(1), clock: clock) { #expect(engine.liveTimers == 1) }
            #expect(engine.liveTimers == 0)
            await counter.count(10, clock)
            #expect(engine.liveTimers == 0)
            await Task { @MainActor in
                await withDeadline(in: .seconds(1), clock: clock) {
                    MainActor.assertIsolated()
                    #expect(engine.liveTimers == 1)
                }
            }.value
        }
        #expect(made == 12)
        #expect(await counter.value == 10)
        #expect(engine.liveTimers == 0)
    }

    private actor Counter {
        var value = 0

        func count(_ times: Int, _ clock: MonotonicClock) async {
            for _ in 0..<times {
                await withDeadline(in: .seconds(1), clock: clock) {
                    assertIsolated()
                    value += 1
                }
            }
        }

        /// Counts once, with a suspension inside the operation.
        func countSlowly(_ clock: MonotonicClock) async {
            await withDeadline(in: .seconds(1), clock: clock) {
                await Task.yield()
                assertIsolated()
                value += 1
            }
            assertIsolated()
        }
    }

    @Test("keep the operation on its caller's actor, also after a suspension")
    func isolation() async {
        let counter = Counter()
        await counter.countSlowly(clock)
        #expect(await counter.value == 1)
        #expect(engine.liveTimers == 0)
    }

    @Test("combine on one clock: a later one nested inside costs no timer, and the earlier one cancels")
    func nestedLater() async {
        async let moved: Void = move(by: .seconds(5))
        await withDeadline(in: .seconds(5), clock: clock) {
            await withDeadline(in: .seconds(10), clock: clock) {
                try? await untilCancelled()
                #expect(Task.isCancelled)
            }
            #expect(Task.isCancelled)
        }
        await moved
        #expect(engine.liveTimers == 0)
    }

    @Test("combine on one clock also across a nested scope on another clock")
    func nestedThroughAnother() async throws {
        let boot = BootTimeClock(engine: try BootTimeTimerEngine(.init(time: time.base)))
        let made = await timersMade {
            await withDeadline(in: .seconds(5), clock: clock) {
                await withDeadline(in: .seconds(7), clock: boot) {
                    await withDeadline(in: .seconds(6), clock: clock) { await timersAre(1) }
                }
            }
        }
        #expect(made == 1)
    }

    @Test("share one timer if they are on one clock at the same instant")
    func nestedEqual() async throws {
        let deadline = time.now + .seconds(5)
        let made = await timersMade {
            await withDeadline(deadline, clock: clock) {
                await withDeadline(deadline, clock: clock) { #expect(engine.liveTimers == 1) }
            }
        }
        #expect(made == 1)
    }

    @Test("cancel the inner operation only if they are nested and earlier")
    func nestedEarlier() async {
        async let moved: Void = move(by: .seconds(2), timers: 2)
        let (inner, outer) = await withDeadline(in: .seconds(3), clock: clock) {
            let inner = await withDeadline(in: .seconds(2), clock: clock) {
                try? await untilCancelled()
                return Task.isCancelled
            }
            return (inner, Task.isCancelled)
        }
        await moved
        #expect(inner)
        #expect(!outer)
        #expect(engine.liveTimers == 0)
    }

    @Test("combine across engines on the same time, and not across different times")
    func identities() async throws {
        let sister = MonotonicClock(engine: try TimerEngine(.init(time: time.base)))
        #expect(sister.id == clock.id)
        #expect(MonotonicClock().id == MonotonicClock(precision: .precise).id)
        #expect(MonotonicClock().id != clock.id)
        #expect(AnyHashable(BootTimeClock().id) != AnyHashable(MonotonicClock().id))
        let made = await timersMade {
            await withDeadline(in: .seconds(3), clock: sister) {
                await withDeadline(in: .seconds(3), clock: clock) { for _ in 0..<10 { await Task.yield() } }
            }
        }
        #expect(made == 0)
        let foreign = ManualTime()
        let stranger = MonotonicClock(engine: try TimerEngine(.init(time: foreign.base)))
        await withDeadline(in: .seconds(3), clock: stranger) {
            await withDeadline(in: .seconds(30), clock: clock) { await timersAre(1) }
        }
    }

    @Test("do not apply to an unstructured task: its own later deadline cancels it")
    func unstructured() async {
        let task = await withDeadline(in: .seconds(3600), clock: clock) {
            let task = Task {
                await withDeadline(in: .seconds(7200), clock: clock) { try? await untilCancelled() }
            }
            // The task's deadline is armed although the scope that made the task has an earlier one.
            await timersAre(2)
            return task
        }
        await timersAre(1)
        time.advance(by: .seconds(7200))
        await task.value
    }

    @Test(
        "A child's later deadline costs no timer, and the parent's cancels both; an earlier one cancels only the child"
    )
    func children() async {
        async let moved: Void = move(by: .seconds(3))
        await withDeadline(in: .seconds(3), clock: clock) {
            async let child: Void = withDeadline(in: .seconds(5), clock: clock) { try? await untilCancelled() }
            await child
        }
        await moved
        #expect(engine.liveTimers == 0)
        async let movedAgain: Void = move(by: .seconds(2), timers: 2)
        await withDeadline(in: .seconds(3), clock: clock) {
            async let child: Void = withDeadline(in: .seconds(2), clock: clock) { try? await untilCancelled() }
            await child
            #expect(!Task.isCancelled)
        }
        await movedAgain
    }

    @Test("let a cancellation of the calling task reach the operation")
    func callerCancelled() async {
        let task = Task {
            try await withDeadline(in: .seconds(5), clock: clock) { try await untilCancelled() }
        }
        await timersAre(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(engine.liveTimers == 0)
    }

    @Test("count as passed when the engine has shut down")
    func engineEnds() async {
        async let ended: Void = {
            await timersAre(1)
            await engine.shutdown()
        }()
        await withDeadline(in: .seconds(5), clock: clock) { try? await untilCancelled() }
        await ended
        #expect(engine.liveTimers == 0)
        // The engine has already shut down before this call.
        await withDeadline(in: .seconds(5), clock: clock) { try? await untilCancelled() }
    }

    @Test("can be queried inside the operation, clock by clock")
    func active() async throws {
        let boot = BootTimeClock(engine: try BootTimeTimerEngine(.init(time: time.base)))
        let (three, five) = (time.now + .seconds(3), time.now + .seconds(5))
        #expect(!Task.hasActiveDeadline)
        #expect(Task.activeDeadline(for: clock) == nil)
        await withDeadline(five, clock: clock) {
            #expect(Task.hasActiveDeadline)
            #expect(Task.activeDeadline(for: clock) == five)
            #expect(Task.activeDeadline(for: boot) == nil)
            await withDeadline(three, clock: clock) { #expect(Task.activeDeadline(for: clock) == three) }
            await withDeadline(in: .seconds(10), clock: boot) {
                #expect(Task.activeDeadline(for: boot) == time.bootTimeNow + .seconds(10))
                await withDeadline(in: .seconds(10), clock: clock) {
                    #expect(Task.activeDeadline(for: clock) == five)
                }
            }
            async let inChild = Task.activeDeadline(for: clock)
            #expect(await inChild == five)
        }
        #expect(!Task.hasActiveDeadline)
    }

    @Test("use a foreign clock's own sleep, which is cancelled when the operation is done")
    func foreignClock() async {
        let foreign = ForeignClock(base: clock)
        async let moved: Void = move(by: .seconds(5))
        await withDeadline(in: .seconds(5), clock: foreign) { try? await untilCancelled() }
        await moved
        await withDeadline(in: .seconds(5), clock: foreign) { await timersAre(1) }
        #expect(engine.liveTimers == 0)
        #expect(await withDeadline(in: .seconds(5), clock: foreign) { 1 } == 1)
    }

    /// Generic code like that of a package that accepts only the standard library's clocks.
    private nonisolated(nonsending) func isNearer<C: Clock & Identifiable>(
        _ limit: C.Instant,
        on clock: C
    ) async -> Bool where C.ID == SystemClockID {
        await withDeadline(limit, clock: clock) {
            #expect(clock.id == (C.self == ContinuousClock.self ? .continuous : .suspending))
            return Task.activeDeadline(for: clock) == limit
        }
    }

    @Test("work in code that is generic over identified clocks, also with the standard library's clocks")
    func generic() async {
        await withDeadline(in: .seconds(3600)) {
            #expect(Task.activeDeadline()! > .now)
            #expect(await isNearer(.now + .seconds(60), on: ContinuousClock()))
            #expect(await !isNearer(.now + .seconds(7200), on: ContinuousClock()))
            #expect(await isNearer(.now + .seconds(7200), on: SuspendingClock()))
        }
        #expect(Task.activeDeadline() == nil)
    }

    @Test("have the spelling of SE-0526 on the standard library's clocks")
    func standardClocks() async throws {
        #expect(await withDeadline(in: .seconds(3600)) { 1 } == 1)
        let continuous = ContinuousClock.now.advanced(by: .seconds(3600))
        await withDeadline(continuous, clock: ContinuousClock()) {
            #expect(Task.activeDeadline(for: ContinuousClock()) == continuous)
            #expect(Task.activeDeadline(for: SuspendingClock()) == nil)
            #expect(!Task.isCancelled)
        }
        let suspending = SuspendingClock.now.advanced(by: .seconds(-1))
        #expect(await withDeadline(suspending, clock: SuspendingClock()) { Task.isCancelled })
        #expect(await withDeadline(in: .zero) { Task.isCancelled })
        #expect(await withDeadline(in: .seconds(-1), clock: SuspendingClock()) { Task.isCancelled })
    }
}
