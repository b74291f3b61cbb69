// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import TestSupport
import TestTraits
import Testing

/// How often an engine wakes, with exact counts. On frozen time.
@Suite struct EngineWakeTests {
    let time = ManualTime(start: MonotonicInstant(nanoseconds: 0))

    private func at(_ ns: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: ns) }

    @Test("Precise timers that have fired cause no further wake-ups", arguments: [1, 31, 32, 33, 64, 100])
    func preciseComeAndGo(count: Int) throws {
        let engine = try TimerEngine(.init(time: time.base))
        let fires = Recorder<Int>()
        for index in 0..<count {
            engine.schedule(at: at(Int64(index) * 1_000_000), precision: .precise) { _ in fires.append(index) }
        }
        engine.schedule(at: at(3_600_000_000_000), precision: .precise) { _ in fires.append(-1) }
        time.advance(to: at(1_000_000_000))
        #expect(fires.all == Array(0..<count))
        let before = engine.statistics.wakeups
        time.advance(to: at(3_000_000_000_000))
        #expect(engine.statistics.wakeups == before)
        #expect(time.nextDeadline == at(3_600_000_000_000))
    }

    @Test("Cancelled timers beside a pending one cost no wake-up", arguments: [39, 1000, 100_000])
    func cancelledBesideOne(count: Int) throws {
        let engine = try TimerEngine(.init(time: time.base))
        let fires = Recorder<Int>()
        let tokens = (1...count).map { index in
            engine.schedule(at: at(Int64(index) * 600_000_000_000 / Int64(count))) { _ in fires.append(index) }
        }
        engine.schedule(at: at(3_600_000_000_000)) { _ in fires.append(0) }
        for token in tokens { #expect(engine.cancel(token)) }
        #expect(time.nextDeadline == at(3_600_000_000_000))
        #expect(time.run(limit: 1) == 1)
        #expect(fires.all == [0])
        #expect(engine.statistics.wakeups == 1)
        #expect(engine.statistics.spuriousWakeups == 0)
    }

    @Test(
        "A thousand timers with a tolerance of a tenth of their interval wake the engine about as rarely as possible",
        arguments: [10, 100]
    )
    func coalesces(hertz: Int) throws {
        let engine = try TimerEngine(.init(precision: .coalesced, time: time.base))
        let interval_ns = Int64(1_000_000_000 / hertz)
        var random = SeededRandom.fromEnvironment()
        var windows: [(deadline_ns: Int64, end_ns: Int64)] = []
        for _ in 0..<1000 {
            let first_ns = Int64.random(in: 0..<interval_ns, using: &random)
            engine.schedule(
                at: at(first_ns),
                every: .nanoseconds(interval_ns),
                tolerance: .nanoseconds(interval_ns / 10)
            ) { _ in }
            for tick in 0..<Int64(hertz) {
                let deadline_ns = first_ns + tick * interval_ns
                windows.append((deadline_ns, deadline_ns + interval_ns / 10))
            }
        }
        time.advance(to: at(1_000_000_000))
        // The greedy minimum: wake at the earliest end of a window not served yet, and serve all windows that have begun.
        windows.sort { $0.end_ns < $1.end_ns }
        var (fewest, woke_ns) = (0, Int64.min)
        for window in windows where window.deadline_ns > woke_ns && window.end_ns <= 1_000_000_000 {
            woke_ns = window.end_ns
            fewest += 1
        }
        #expect(engine.statistics.wakeups <= fewest + fewest / 10)
        #expect(engine.statistics.spuriousWakeups == 0)
    }

    @Test("One wake-up serves all timers that are due together", arguments: [64, 65, 1024, 1025, 20_000])
    func manyAtOnce(count: Int) throws {
        let engine = try TimerEngine(.init(time: time.base))
        let fires = Recorder<Int>()
        for index in 0..<count {
            engine.schedule(at: at(3_600_000_000_000)) { _ in fires.append(index) }
        }
        time.advance(to: at(3_600_000_000_000))
        #expect(fires.all == Array(0..<count))
        #expect(engine.statistics.wakeups == 1)
        #expect(engine.statistics.spuriousWakeups == 0)
    }

    @Test("A timer for the instant to which the engine sleeps does not wake it; one a nanosecond earlier does, once")
    func sameInstant() throws {
        let engine = try TimerEngine(.init(time: time.base))
        engine.schedule(at: at(0)) { _ in }
        engine.schedule(at: at(1000)) { _ in }
        time.advance(to: at(0))
        for (deadline_ns, wakes) in [(1001, 0), (1000, 0), (999, 1), (998, 1)] as [(Int64, UInt64)] {
            engine.schedule(at: at(deadline_ns)) { _ in }
            #expect(engine.statistics.wakesSent == wakes, "\(deadline_ns)")
        }
    }

    /// The ways to give a timer that is armed another deadline.
    enum Move: CaseIterable { case at, atWithInterval, after }

    @Test(
        "A timer moved before the instant to which the engine sleeps wakes it, once; one moved later does not",
        arguments: TimerPrecision.allCases,
        Move.allCases
    )
    func moved(_ precision: TimerPrecision, _ move: Move) throws {
        let engine = try TimerEngine(.init(precision: precision, time: time.base))
        let fires = Recorder<Int64>()
        let second_ns: Int64 = 1_000_000_000
        engine.schedule(at: at(0)) { _ in }
        engine.schedule(at: at(2 * second_ns)) { _ in }
        let timer = engine.schedule(at: at(3 * second_ns)) { fires.append($0.firedAt.nanoseconds) }
        time.advance(to: at(0))
        let before = engine.statistics.wakesSent
        // It sleeps until 2 s. Once it is woken, no further wake is needed.
        let moves: [(deadline_ns: Int64, wakes: UInt64)] = [
            (4 * second_ns, 0), (2 * second_ns, 0), (2 * second_ns - 1, 1), (second_ns, 1),
        ]
        for (deadline_ns, wakes) in moves {
            switch move {
            case .at: #expect(engine.reschedule(timer, at: at(deadline_ns)))
            case .atWithInterval: #expect(engine.reschedule(timer, at: at(deadline_ns), every: .seconds(3600)))
            case .after: #expect(engine.reschedule(timer, after: .nanoseconds(deadline_ns)))
            }
            #expect(engine.statistics.wakesSent - before == wakes, "\(deadline_ns)")
        }
        time.advance(to: at(2 * second_ns))
        #expect(fires.all == [second_ns])
    }

    @Test("Advances of the clock by two threads add up", .hangLimit)
    func twoThreads() async {
        let time = self.time
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask { for _ in 0..<1000 { time.advance(by: .nanoseconds(1)) } }
            }
        }
        #expect(time.now == at(2000))
    }
}
