// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// A thread that sleeps on a timerfd, and is woken for an earlier deadline only at that deadline.
@Suite(.serialized, .hangLimit) struct WakeAtTests {
    private func now(_ clock: TimerClock) -> Int64 { hrt_clock_now_ns(clock.c) }

    @Test(
        "A wait ends at the instant that another thread asks for, not before, on every clock",
        arguments: TimerClock.allCases
    )
    func wakesAt(_ clock: TimerClock) throws {
        let waiter = try Waiter(.timerfd, clock: clock)
        for until_ns: Int64 in [.max, now(clock) + 3_600_000_000_000] {
            for delay_ns: Int64 in [-1_000_000, 0, 500_000, 3_000_000] {
                let woken = Locked<(at_ns: Int64, isWoken: Bool)?>(nil)
                let asked_ns = now(clock) + delay_ns
                let thread = try startThread {
                    let isWoken = waiter.wait(until: until_ns)
                    woken.withLock { $0 = (now(clock), isWoken) }
                }
                #expect(waiter.wake(at: asked_ns))
                join(thread)
                let outcome = try #require(woken.withLock { $0 })
                #expect(outcome.isWoken && outcome.at_ns >= asked_ns)
            }
        }
    }

    @Test("Only a timerfd can wake at an instant; all other ways return false", arguments: ParkStrategy.available)
    func others(_ way: ParkStrategy) throws {
        #expect(try Waiter(way).wake(at: .max - 1) == (way == .timerfd))
    }

    @Test("If many threads ask for a wake at once, the earliest instant counts, each time")
    func earliest() throws {
        let waiter = try Waiter(.timerfd)
        var random = SeededRandom.fromEnvironment()
        for _ in 0..<100 {
            let base_ns = now(.monotonic) + 500_000
            let asked = (0..<8).map { _ in base_ns + Int64.random(in: 0...300_000, using: &random) }
            // All others ask for an hour later than the earliest: a test that heeded one of them would not end.
            let earliest_ns = asked.min()!
            let threads = try asked.map { asked_ns in
                try startThread {
                    _ = waiter.wake(at: asked_ns == earliest_ns ? asked_ns : asked_ns + 3_600_000_000_000)
                }
            }
            #expect(waiter.wait(until: .max))
            #expect(now(.monotonic) >= earliest_ns)
            threads.forEach { join($0) }
        }
    }

    @Test("An engine that sleeps on a timerfd wakes once for a timer of another thread, and on time")
    func wakesOnce() throws {
        let engine = try TimerEngine(.init(parkStrategy: .timerfd))
        var best = Duration.seconds(1)
        let before = engine.statistics.wakeups
        for number in 1...50 {
            let fired = Latch()
            let late = Locked(Duration.zero)
            engine.schedule(after: .milliseconds(1)) { fire in
                late.withLock { $0 = fire.lateness }
                fired.open()
            }
            if number % 10 == 0 { engine.cancel(engine.schedule(after: .microseconds(500)) { _ in }) }
            fired.wait()
            let lateness = late.withLock { $0 }
            #expect(lateness >= .zero)
            best = min(best, lateness)
            // Long enough for the engine to sleep again.
            pause(.microseconds(300))
        }
        // One wake-up for each timer, and for each one that was cancelled; a machine that stalls may add a few.
        #expect(engine.statistics.wakeups - before < 75)
        #expect(best < atBest(.milliseconds(1)))
    }

    @Test("Timers that several threads schedule at once all fire, and never early")
    func contended() throws {
        let engine = try TimerEngine(.init(parkStrategy: .timerfd))
        let fired = Recorder<Bool>()
        let threads = try (0..<4).map { seed in
            try startThread {
                var random = SeededRandom(seed: UInt64(seed))
                for _ in 0..<500 {
                    let deadline = MonotonicInstant.now.advanced(
                        by: .microseconds(Int.random(in: 0...2000, using: &random))
                    )
                    engine.schedule(at: deadline) { _ in fired.append(MonotonicInstant.now >= deadline) }
                    if Int.random(in: 0..<4, using: &random) == 0 { pause(.microseconds(200)) }
                }
            }
        }
        threads.forEach { join($0) }
        while fired.count < 2000 { pause(.milliseconds(1)) }
        #expect(fired.all.allSatisfy { $0 })
    }
}
