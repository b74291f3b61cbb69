// SPDX-License-Identifier: Apache-2.0
import CBench
import Glibc
import HRTimer
import Synchronization
import TestSupport
import TestTraits
import Testing

/// Sleeps, timeouts and idle timeouts on the real clock, when two things happen at the same instant.
@Suite("Sleep races", .hangLimit)
struct SleepRaceTests {
    private let rounds = isSanitized ? 50 : 300

    @Test(
        "A sleep that is cancelled at its deadline ends once, with or without an error, and leaves no timer",
        arguments: TimerPrecision.allCases
    )
    func sleeps(precision: TimerPrecision) async throws {
        let engine = try TimerEngine(.init(name: "contract", precision: precision))
        let clock = MonotonicClock(engine: engine)
        for round in 0..<rounds {
            let deadline = MonotonicInstant.now + .microseconds(round % 100)
            let task = Task.detached {
                do { try await clock.sleep(until: deadline) } catch { return MonotonicInstant.distantFuture }
                return .now
            }
            while MonotonicInstant.now < deadline { await Task.yield() }
            task.cancel()
            #expect(await task.value >= deadline)
        }
        #expect(engine.liveTimers == 0)
        await engine.shutdown()
    }

    @Test("A sleep that is cancelled while it arms its timer leaves no timer")
    func cancelledWhileArmed() async throws {
        let engine = try TimerEngine(.init(name: "contract"))
        let clock = MonotonicClock(engine: engine)
        let isAboutTo = Atomic(false)
        // On a thread of its own: this test holds one of the pool's while it waits for the task.
        let other = TimerExecutor(engine: try TimerEngine(.init(name: "other")))
        let isHeld = Atomic(false)
        let task = Task(executorPreference: other) {
            // Not armed before the lock is held: to cancel a sleep that is armed takes the lock.
            while !isHeld.load(ordering: .acquiring) { usleep(100) }
            isAboutTo.store(true, ordering: .releasing)
            try? await clock.sleep(for: .seconds(3600))
            #expect(engine.liveTimers == 0)
        }
        // The task waits for the lock, in the middle of arming.
        engine.core.state.withLock { _ in
            isHeld.store(true, ordering: .releasing)
            while !isAboutTo.load(ordering: .acquiring) {}
            usleep(20_000)
            task.cancel()
        }
        await task.value
        await engine.shutdown()
    }

    @Test("A precise timer is no longer live in its last call")
    func liveInItsHandler() async throws {
        let engine = try TimerEngine(.init(name: "contract", precision: .precise))
        let live = Atomic(-1)
        for _ in 0..<20 {
            engine.schedule(after: .milliseconds(2)) { _ in live.store(engine.liveTimers, ordering: .releasing) }
            while live.load(ordering: .acquiring) < 0 { await Task.yield() }
            #expect(live.exchange(-1, ordering: .acquiring) == 0)
        }
        await engine.shutdown()
    }

    @Test("A timeout that comes as its operation ends cancels nothing else, and leaves no timer")
    func timeouts() async throws {
        let engine = try TimerEngine(.init(name: "contract"))
        let clock = MonotonicClock(engine: engine)
        var cancelled = 0
        for round in 0..<rounds {
            let deadline = MonotonicInstant.now + .microseconds(60)
            let end = deadline + .microseconds(round % 40 - 20)
            let wasCancelled = await withDeadline(deadline, clock: clock) {
                while MonotonicInstant.now < end, !Task.isCancelled { await Task.yield() }
                return Task.isCancelled
            }
            if wasCancelled {
                cancelled += 1
                #expect(MonotonicInstant.now >= deadline)
            }
            #expect(!Task.isCancelled)
        }
        print("\(cancelled) of \(rounds) came before the end of the operation")
        #expect(engine.liveTimers == 0)
        await engine.shutdown()
    }

    @Test("Deadlines on the standard library's clocks cancel their operation, and never early")
    func standardClocks() async throws {
        let (continuous, suspending) = (ContinuousClock(), SuspendingClock())
        let deadline = continuous.now.advanced(by: .milliseconds(2))
        await withDeadline(deadline) {
            while !Task.isCancelled { await Task.yield() }
            #expect(continuous.now >= deadline)
        }
        let other = suspending.now.advanced(by: .milliseconds(2))
        await withDeadline(other, clock: suspending) {
            while !Task.isCancelled { await Task.yield() }
            #expect(suspending.now >= other)
        }
    }

    @Test("An operation with a deadline stays on its TimerExecutor, whether it ends in time or is cancelled")
    func onExecutor() async throws {
        let executor = try TimerExecutor()
        await Task(executorPreference: executor) {
            await withDeadline(in: .seconds(3600), clock: MonotonicClock()) { #expect(executor.isCurrent) }
            await withDeadline(in: .milliseconds(1), clock: MonotonicClock()) {
                try? await MonotonicClock().sleep(until: .distantFuture)
                #expect(Task.isCancelled)
                #expect(executor.isCurrent)
            }
            #expect(executor.isCurrent)
        }.value
    }

    @Test("An idle timeout is decided once: touched in time or expired, never both", arguments: TimerPrecision.allCases)
    func idleTimeouts(precision: TimerPrecision) async throws {
        let engine = try TimerEngine(.init(name: "contract", precision: precision))
        let expired = Atomic(0)
        var ranOut = 0
        let idle = IdleTimeout(.microseconds(100), engine: engine) { expired.add(1, ordering: .acquiringAndReleasing) }
        for round in 0..<rounds {
            let until = MonotonicInstant.now + .microseconds(80 + round % 40)
            while MonotonicInstant.now < until {}
            if idle.touch() { continue }
            // The timeout has expired. Its handler is called if it has not been called yet.
            ranOut += 1
            while expired.load(ordering: .acquiring) < ranOut { await Task.yield() }
            #expect(expired.load(ordering: .acquiring) == ranOut)
            #expect(idle.resume())
        }
        if !idle.cancel() { ranOut += 1 }
        while expired.load(ordering: .acquiring) < ranOut { await Task.yield() }
        #expect(expired.load(ordering: .acquiring) == ranOut)
        await engine.shutdown()
        #expect(expired.load(ordering: .acquiring) == ranOut)
    }

    @Test("Touches of an idle timeout do not wake the engine, which learns of them at the deadline that it had")
    func touchesWakeNobody() async throws {
        let engine = try TimerEngine(.init(name: "contract"))
        let idle = IdleTimeout(.seconds(3600), engine: engine) {}
        while engine.core.state.withLock({ $0.parkedUntil_ns }) == .min { await Task.yield() }
        let before = engine.statistics
        for _ in 0..<1000 { #expect(idle.touch()) }
        #expect(engine.statistics == before)
        #expect(idle.nextDeadline! > .now + .seconds(3000))
        idle.cancel()
        #expect(engine.liveTimers == 0)
        await engine.shutdown()
    }

    @Test("Ticks that are cancelled or change their interval at a deadline never deliver a stale tick")
    func ticks() async throws {
        let engine = try TimerEngine(.init(name: "contract"))
        let clock = MonotonicClock(engine: engine)
        for round in 0..<rounds / 10 {
            let ticks = clock.ticks(every: .microseconds(50))
            let isOver = Atomic(false)
            let consumer = Task.detached {
                var last = MonotonicInstant.distantPast
                for await tick in ticks {
                    #expect(tick.firedAt >= tick.deadline)
                    #expect(tick.deadline > last)
                    last = tick.deadline
                }
                return isOver.load(ordering: .acquiring)
            }
            for change in 0..<5 {
                let until = MonotonicInstant.now + .microseconds(20 + round % 80)
                while MonotonicInstant.now < until { await Task.yield() }
                ticks.interval = .microseconds(change.isMultiple(of: 2) ? 40 : 60)
            }
            isOver.store(true, ordering: .releasing)
            if round.isMultiple(of: 2) { ticks.cancel() } else { consumer.cancel() }
            #expect(await consumer.value)
        }
        #expect(engine.liveTimers == 0)
        await engine.shutdown()
    }

    @Test("Among thousands of timers a sleep without a tolerance shares wake-ups, and one with zero tolerance does not")
    func crowd() async throws {
        let engine = try TimerEngine(.init(name: "contract", precision: .coalesced))
        let crowd = (0..<4200).map { _ in engine.schedule(at: .distantFuture) { _ in } }
        let clock = MonotonicClock(engine: engine)
        func window(_ tolerance: Duration?) async -> Int64 {
            let deadline = MonotonicInstant.now + .seconds(3600)
            let task = Task.detached { try? await clock.sleep(until: deadline, tolerance: tolerance) }
            while engine.liveTimers == crowd.count { await Task.yield() }
            // The sleep is the only timer that is ever due: the engine sleeps until the end of its window.
            let wake_ns = engine.core.state.withLock { $0.exactPark().until_ns }
            task.cancel()
            await task.value
            return wake_ns - deadline.nanoseconds
        }
        #expect(await window(nil) == 1_000_000)
        #expect(await window(.zero) == 0)
        #expect(await window(.microseconds(10)) == 10_000)
        await engine.shutdown()
        let few = try TimerEngine(.init(name: "contract", precision: .coalesced))
        let wake_ns = await Task.detached {
            let deadline = MonotonicInstant.now + .seconds(3600)
            let task = Task.detached { try? await MonotonicClock(engine: few).sleep(until: deadline) }
            while few.liveTimers == 0 { await Task.yield() }
            defer { task.cancel() }
            return few.core.state.withLock { $0.exactPark().until_ns } - deadline.nanoseconds
        }.value
        #expect(wake_ns == 0)
        await few.shutdown()
    }
}
