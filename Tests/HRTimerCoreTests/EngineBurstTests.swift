// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import TestSupport
import Testing

/// Timers that cannot keep up, beside timers that must not wait for them. The tests count the calls between a deadline and its
/// call, and measure no time. Handlers take time by advancing the clock.
@Suite struct EngineBurstTests {
    private struct Call: Sendable {
        let timer: Int
        let begun_ns: Int64
    }

    /// The kinds of timers that cannot keep up.
    private enum Restless: CaseIterable {
        case burst
        /// Its handler reschedules it for the deadline after its own.
        case rescheduled
        /// Its handler arms a new timer for the deadline after its own.
        case successor
    }

    private let time = ManualTime(start: MonotonicInstant(nanoseconds: 0))
    private let calls = Recorder<Call>()

    private func at(_ ns: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: ns) }

    private func add(_ kind: Restless, _ number: Int, _ engine: TimerEngine, interval_ns: Int64, cost_ns: Int64) {
        let (time, calls) = (time, calls)
        @Sendable func work() {
            calls.append(Call(timer: number, begun_ns: time.now.nanoseconds))
            time.advance(by: .nanoseconds(cost_ns))
        }
        let interval = Duration.nanoseconds(interval_ns)
        switch kind {
        case .burst: engine.schedule(at: at(interval_ns), every: interval, policy: .burst) { _ in work() }
        case .rescheduled:
            engine.schedule(at: at(interval_ns)) { [weak engine] fire in
                work()
                engine?.reschedule(fire.token, at: fire.deadline.advanced(by: interval))
            }
        case .successor:
            @Sendable func again(_ fire: TimerFire, _ engine: TimerEngine?) {
                work()
                engine?.schedule(at: fire.deadline.advanced(by: interval)) { [weak engine] in again($0, engine) }
            }
            engine.schedule(at: at(interval_ns)) { [weak engine] in again($0, engine) }
        }
    }

    @Test(
        "From its deadline on, a timer waits for the running handler and one call of each timer that cannot keep up",
        arguments: TimerPrecision.allCases
    )
    func bound(_ precision: TimerPrecision) throws {
        var random = SeededRandom.fromEnvironment()
        for _ in 0..<20 {
            let world = EngineBurstTests()
            let engine = try TimerEngine(.init(precision: precision, time: world.time.base))
            let restless = Int.random(in: 1...8, using: &random)
            for number in 0..<restless {
                world.add(
                    Restless.allCases.randomElement(using: &random)!,
                    number,
                    engine,
                    interval_ns: Int64.random(in: 1...50, using: &random),
                    cost_ns: Int64.random(in: 60...500, using: &random)
                )
            }
            let deadlines = (0..<40).map { _ in Int64.random(in: 1...20_000, using: &random) }
            for (index, deadline_ns) in deadlines.enumerated() {
                engine.schedule(at: world.at(deadline_ns)) { [calls = world.calls] fire in
                    calls.append(Call(timer: 100 + index, begun_ns: fire.firedAt.nanoseconds))
                }
            }
            while world.time.now < world.at(30_000) { world.time.advance(by: .nanoseconds(50)) }
            world.check(deadlines)
            // Handlers that re-arm for ever hold the engine weakly, so that it can end here.
            engine.shutdown()
        }
    }

    private func check(_ deadlines: [Int64]) {
        let all = calls.all
        for (index, deadline_ns) in deadlines.enumerated() {
            guard let place = all.firstIndex(where: { $0.timer == 100 + index }) else {
                Issue.record("the timer for \(deadline_ns) did not come by 30,000 ns")
                continue
            }
            let before = all[..<place].filter { $0.timer < 100 && $0.begun_ns >= deadline_ns }
            let ticks = Dictionary(grouping: before, by: \.timer).mapValues(\.count)
            #expect(ticks.values.allSatisfy { $0 == 1 }, "before the one for \(deadline_ns): \(ticks)")
        }
    }

    @Test("Bursts that are behind take turns, fire each tick once in order, and report their own deadlines")
    func turns() throws {
        let engine = try TimerEngine(.init(time: time.base))
        let order = Recorder<String>()
        engine.schedule(at: at(0)) { [time] _ in time.advance(by: .nanoseconds(350)) }
        for name in ["a", "b"] {
            engine.schedule(at: at(name == "a" ? 100 : 150), every: .nanoseconds(100), policy: .burst) { fire in
                order.append("\(name)\(fire.deadline.nanoseconds)")
                #expect(fire.missedTicks == 0)
                #expect(engine.deadline(of: fire.token) == fire.deadline)
                #expect(fire.lateness == fire.deadline.duration(to: fire.firedAt))
            }
        }
        engine.schedule(at: at(340)) { _ in order.append("once") }
        time.advance(to: at(350))
        #expect(order.all == ["a100", "b150", "once", "a200", "b250", "a300", "b350"])
        // Lateness counts from the deadlines, not from the place in the order: 250 + 200 + 10 + 150 + 100 + 50 + 0.
        #expect(engine.lateness.sum == .nanoseconds(760))
        time.advance(to: at(400))
        #expect(order.all.suffix(1) == ["a400"])
    }

    @Test("A burst that is behind reports its own next deadline, and catches up without losing a tick")
    func deadlineWhileBehind() throws {
        let engine = try TimerEngine(.init(time: time.base))
        let seen = Recorder<Int64>()
        let token = Recorder<TimerToken>()
        token.append(
            engine.schedule(at: at(100), every: .nanoseconds(100), policy: .burst) { [time] fire in
                seen.append(fire.deadline.nanoseconds)
                if seen.count == 1 { time.advance(by: .nanoseconds(1000)) }
            }
        )
        engine.schedule(at: at(90)) { [time] _ in time.advance(by: .nanoseconds(200)) }
        engine.schedule(at: at(101)) { _ in
            // The burst's second tick is behind, and waits.
            #expect(engine.deadline(of: token.all[0])?.nanoseconds == 200)
        }
        time.advance(to: at(3000))
        #expect(seen.all == (1...30).map { $0 * 100 })
    }

    @Test("A timer armed for an instant that the engine has passed keeps the end of its window")
    func windowOfThePast() throws {
        let engine = try TimerEngine(.init(precision: .coalesced, time: time.base))
        let fires = Recorder<Int64>()
        engine.schedule(at: at(1000)) { fire in
            engine.schedule(at: fire.deadline.advanced(by: .nanoseconds(-100)), tolerance: .nanoseconds(300)) {
                fires.append($0.deadline.nanoseconds)
            }
        }
        time.advance(to: at(1000))
        // The timer is due while the engine is awake, so that it fires at once.
        #expect(fires.all == [900])
        engine.schedule(at: at(900), tolerance: .nanoseconds(300)) { fires.append($0.firedAt.nanoseconds) }
        #expect(time.nextDeadline == at(1200))
        time.advance(to: at(2000))
        #expect(fires.all == [900, 1200])
    }

    @Test("A timer keeps the end of its window also when slow handlers carry the clock past the engine's wake-up")
    func windowBeyondTurn() throws {
        let engine = try TimerEngine(.init(precision: .coalesced, time: time.base))
        let fires = Recorder<Int64>()
        engine.schedule(at: at(1000)) { [time] _ in time.advance(to: at(1600)) }
        engine.schedule(at: at(1000)) { _ in
            engine.schedule(at: at(1500), tolerance: .nanoseconds(300)) { fires.append($0.firedAt.nanoseconds) }
        }
        time.advance(to: at(1000))
        #expect(fires.all == [])
        #expect(time.nextDeadline == at(1800))
        time.advance(to: at(2000))
        #expect(fires.all == [1800])
    }
}
