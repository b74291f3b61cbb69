// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer
@testable import HRTimerCore

/// Precise engines and loops in virtual time. They wake a spin window before a deadline, with the callback prepared, and call
/// it at the deadline. The window is the one of the first sleep: some 65 µs.
@Suite struct VirtualSpinTests {
    let time = ManualTime()
    let engine: TimerEngine
    let deadline: MonotonicInstant
    let calls = Recorder<MonotonicInstant>()

    init() throws {
        engine = try TimerEngine(.init(precision: .precise, time: time.base))
        deadline = time.now + .seconds(1)
    }

    private var isSpinning: Bool { engine.core.state.withLock { $0.isSpinning } }

    private func schedule(at deadline: MonotonicInstant) -> TimerToken {
        engine.schedule(at: deadline) { [calls, time] _ in calls.append(time.now) }
    }

    @Test("A precise engine wakes a spin window before a deadline, calls at it, and shows a test only the deadline")
    func spins() {
        _ = schedule(at: deadline)
        let wake_ns = engine.core.nextWake_ns
        let window_ns = deadline.nanoseconds - wake_ns
        #expect(window_ns > 10_000 && window_ns < 1_000_000)
        #expect(time.nextDeadline == deadline)
        time.advance(to: MonotonicInstant(nanoseconds: wake_ns - 1))
        #expect(!isSpinning)
        time.advance(by: .nanoseconds(1))
        #expect(isSpinning && calls.count == 0 && time.nextDeadline == deadline)
        time.advance(to: deadline - .nanoseconds(1))
        #expect(isSpinning && calls.count == 0)
        time.advance(to: deadline)
        #expect(calls.all == [deadline] && time.nextDeadline == nil)
        #expect(engine.statistics.fires == 1 && engine.statistics.wakeups == 1)
        #expect(engine.statistics.spinTime == .nanoseconds(window_ns))
        #expect(engine.lateness.max == .zero)
    }

    @Test("A slow handler of a prepared call has everything fire that is due when it returns, and nothing more")
    func slow() {
        engine.schedule(at: deadline, every: .seconds(1)) { [calls, time] _ in
            calls.append(time.now)
            time.advance(by: .seconds(2))
        }
        time.advance(to: deadline)
        #expect(calls.all == [deadline, deadline + .seconds(2)])
        engine.shutdown()
    }

    @Test("A timer that is cancelled in its spin window has its prepared call withdrawn")
    func cancelled() {
        let token = schedule(at: deadline)
        time.advance(to: deadline - .microseconds(10))
        #expect(isSpinning)
        #expect(engine.cancel(token))
        #expect(!isSpinning && engine.statistics.fires == 0 && engine.liveTimers == 0)
        #expect(time.nextDeadline == nil)
        // The engine sleeps again: the next timer wakes it.
        let wakes = engine.statistics.wakesSent
        _ = schedule(at: deadline)
        #expect(engine.statistics.wakesSent == wakes + 1)
        time.advance(by: .seconds(1))
        #expect(calls.all == [deadline])
    }

    @Test("A timer moved in its spin window fires at the new deadline; one withdrawn for an earlier timer, at its own")
    func moved() {
        let first = schedule(at: deadline)
        _ = schedule(at: deadline)
        time.advance(to: deadline - .microseconds(10))
        engine.reschedule(first, at: deadline + .seconds(1))
        #expect(time.nextDeadline == deadline)
        time.advance(to: deadline - .microseconds(5))
        let earlier = deadline - .microseconds(2)
        _ = schedule(at: earlier)
        #expect(time.nextDeadline == earlier)
        time.advance(by: .seconds(2))
        #expect(calls.all == [earlier, deadline, deadline + .seconds(1)])
        #expect(engine.statistics.fires == 3 && engine.lateness.max == .zero)
    }

    @Test("A timer cancelled by another engine in the spin window does not fire; a shutdown frees a prepared call")
    func cancelledByOther() throws {
        let other = try TimerEngine(.init(time: time.base))
        let token = schedule(at: deadline)
        other.schedule(at: deadline - .microseconds(10)) { [engine] _ in engine.cancel(token) }
        time.advance(by: .seconds(2))
        #expect(calls.count == 0 && engine.statistics.fires == 0)
        let canaries = Canaries()
        let later = time.now + .seconds(1)
        engine.schedule(at: later) { [canary = canaries.make()] _ in withExtendedLifetime(canary) {} }
        time.advance(to: later - .nanoseconds(1))
        #expect(isSpinning)
        engine.shutdown()
        #expect(canaries.count == 0 && time.nextDeadline == nil)
    }

    @Test("A source that is suspended in its spin window is not called until it resumes, and then at once")
    func source() {
        let source = TimerSource(engine: engine)
        source.setEventHandler { [calls, time] in calls.append(time.now) }
        source.schedule(deadline: deadline)
        source.activate()
        time.advance(to: deadline - .microseconds(10))
        #expect(isSpinning)
        source.suspend()
        #expect(!isSpinning)
        time.advance(to: deadline + .seconds(1))
        #expect(calls.count == 0)
        source.resume()
        time.advance(by: .zero)
        #expect(calls.all == [deadline + .seconds(1)])
    }

    @Test("A tick every millisecond fires at its deadline, and the time spent spinning stays within the budget")
    func ticks() {
        engine.schedule(at: deadline, every: .milliseconds(1)) { [calls, time] fire in
            calls.append(time.now)
            #expect(fire.deadline == time.now)
        }
        time.advance(to: deadline + .seconds(5))
        #expect(calls.count == 5001 && engine.lateness.max == .zero)
        #expect(engine.statistics.spinTime > .zero && engine.statistics.spinTime < .milliseconds(75))
    }

    @Test("Engines without a spin budget of their own share that of their process, or of their virtual time")
    func sharedBudget() throws {
        let other = try TimerEngine(.init(precision: .precise, time: time.base))
        #expect(engine.core.spinBudget === other.core.spinBudget)
        var configuration = TimerEngine.Configuration(precision: .precise, time: time.base)
        configuration.spinBudget = 0.5
        let own = try TimerEngine(configuration)
        #expect(own.core.spinBudget !== engine.core.spinBudget)
        let real = try [1, 2].map { _ in try TimerEngine(.init(precision: .precise, time: .kernel)) }
        #expect(real.allSatisfy { $0.core.spinBudget === SpinBudget.shared })
        #expect(engine.core.spinBudget !== SpinBudget.shared)
        real.forEach { $0.shutdown() }
    }

    @Test("Statistics report how many wakes were early, how many of those in time, and what limits the spin window")
    func outcome() {
        #expect(engine.statistics.spinCoverage == nil && engine.statistics.spinLimit == nil)
        engine.schedule(at: deadline, every: .milliseconds(1)) { _ in }
        time.advance(to: deadline + .milliseconds(99))
        // In virtual time no wake is late.
        #expect(engine.statistics.earlyWakes == 100)
        #expect(engine.statistics.earlyWakesInTime == 100)
        #expect(engine.statistics.spinCoverage == 1)
        #expect(engine.statistics.spinLimit == .coverage)
        let loop = TimerLoop(time: time.base, precision: .precise)
        #expect(loop.statistics.spinCoverage == nil)
        loop.add(LoopTimer(fireAt: time.now + .milliseconds(1)) { _ in }, forMode: .default)
        loop.run()
        #expect(loop.statistics.earlyWakes == 1 && loop.statistics.spinCoverage == 1)
    }

    @Test(
        "A precise loop spins up to its timer's deadline; removing the timer meanwhile withdraws the call",
        arguments: [false, true]
    )
    func loop(isTakenAway: Bool) throws {
        let loop = TimerLoop(time: time.base, precision: .precise)
        let other = try TimerEngine(.init(time: time.base))
        let isPrepared = Recorder<Bool>()
        let timer = LoopTimer(fireAt: deadline) { [calls, time] _ in calls.append(time.now) }
        loop.add(timer, forMode: .default)
        other.schedule(at: deadline - .microseconds(10)) { _ in
            isPrepared.append(loop.state.withLock { $0.core.isSpinning })
            if isTakenAway { timer.invalidate() }
        }
        loop.run()
        #expect(isPrepared.all == [true])
        #expect(calls.all == (isTakenAway ? [] : [deadline]))
        #expect(loop.statistics.spinTime > .microseconds(10))
    }

    @Test("In a test's time, precise engines and loops leave a trace of deadlines only, the same each time")
    func trace() async throws {
        func run(_ seed: UInt64) async throws -> [TestTime.Event] {
            try await withManualTime(TestTimeOptions(seed: seed)) { time in
                let start = time.now
                let engine = try TimerEngine(.init(name: "precise", precision: .precise))
                let thread = try TimerLoop.thread(name: "loop", precision: .precise)
                let timer = LoopTimer(fireAt: start + .seconds(2)) { _ in }
                thread.loop.add(timer, forMode: .default)
                engine.schedule(at: start + .seconds(1)) { _ in }
                engine.schedule(at: start + .seconds(3)) { _ in }
                #expect(await time.nextSleep() == start + .seconds(1))
                await time.advance(to: start + .seconds(1))
                #expect(await time.nextSleep() == start + .seconds(2))
                try await Task.sleep(until: start + .seconds(4), clock: .monotonic)
                let instants = Set(time.trace.map(\.instant)).sorted()
                #expect(instants == [0, 1, 2, 3, 4].map { start + .seconds($0) })
                #expect(engine.statistics.spinTime > .zero && thread.loop.statistics.spinTime > .zero)
                await thread.shutdown()
                return time.trace
            }
        }
        for seed in 1...5 as ClosedRange<UInt64> {
            let first = try await run(seed)
            #expect(try await run(seed) == first)
        }
    }
}
