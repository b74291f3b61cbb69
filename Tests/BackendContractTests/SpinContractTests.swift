// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import CTestSupport
import HRTimer
import Synchronization
import TestSupport
import TestTraits
import Testing

@testable import HRTimerCore

@Suite("A spin", .serialized, .ownThread, .hangLimit) struct SpinContractTests {
    private func now(_ clock: TimerClock = .monotonic) -> Int64 { hrt_clock_now_ns(clock.c) }

    @Test("never ends early, on any clock, and reports no more time than it lasted", arguments: TimerClock.allCases)
    func neverEarly(clock: TimerClock) {
        var best_ns = Int64.max
        for round in 0..<300 {
            let begun_ns = now(clock)
            let deadline_ns = begun_ns + Int64(round * 500)
            let spin = TimeBase.kernel.on(clock).spin(until: deadline_ns, from: begun_ns)
            #expect(spin.now_ns >= deadline_ns)
            #expect(now(clock) >= deadline_ns)
            #expect((0...max(0, spin.now_ns - begun_ns)).contains(spin.spun_ns))
            best_ns = min(best_ns, spin.now_ns - deadline_ns)
        }
        #expect(.nanoseconds(best_ns) < atBest(.microseconds(5)))
    }

    @Test("does not report the time for which the processor was elsewhere")
    func away() {
        let begun_ns = now()
        blockThread(until: begun_ns + 1_000_000)
        let back_ns = now()
        // To the spin it seems that the thread was away between two readings of the clock.
        let spin = TimeBase.kernel.spin(until: back_ns + 200_000, from: begun_ns)
        #expect(spin.spun_ns <= spin.now_ns - back_ns)
    }

    @Test("ends at once if the deadline has come, or is further away than allowed")
    func atOnce() {
        let now_ns = now()
        for deadline_ns in [Int64.min, -1, 0, now_ns - 1, now_ns, now_ns + 1_001, .max] {
            let spin = TimeBase.kernel.spin(until: deadline_ns, from: now_ns, atMost: 1_000)
            #expect(spin == (now_ns, 0))
        }
        #expect(TimeBase.kernel.spin(until: .max, from: .min, atMost: .max) == (.min, 0))
    }

    @Test("right before a call lasts until the deadline, however far a clock that was set back is from it")
    func setBack() {
        for ahead_ns: Int64 in [0, 1, 3_999, 4_000, 4_001, 5_000, 10_000, 50_000, 1_000_000] {
            let called = Recorder<MonotonicInstant>()
            var fire = Fire()
            fire.target = .handler { called.append($0.firedAt) }
            fire.isBeforeDeadline = true
            // To the call it seems that the clock went back after the call was committed.
            let now_ns = now()
            fire.place_ns = now_ns + ahead_ns
            fire.deadline_ns = fire.place_ns
            fire.deliver(now_ns, on: .kernel, nil)
            #expect(called.count == 1)
            #expect(called.all.allSatisfy { $0.nanoseconds >= fire.place_ns }, "\(ahead_ns) ns ahead")
            fire.letGo()
        }
    }

    @Test(
        "by a task is charged to its engine, except for the time in which the processor was elsewhere",
        .enabled(if: !isSanitized, "Thread Sanitizer has signals wait")
    )
    func interrupted() throws {
        var configuration = TimerEngine.Configuration(name: "contract", precision: .precise)
        configuration.spinBudget = 1
        let engine = try TimerEngine(configuration)
        defer { engine.shutdown() }
        var wasInterrupted = false
        // On a busy machine the signal may come before the spin, or the spin may end before it.
        while !wasInterrupted {
            let (spent, begun_ns) = (cost(engine), now())
            #expect(ctest_interrupt_once(400_000, 800_000) == 0)
            let isOver = engine.core.spinOut(until: now() + 1_900_000)
            let ended_ns = now()
            var away: (begun_ns: Int64, ended_ns: Int64) = (0, 0)
            ctest_interruption_end(&away.begun_ns, &away.ended_ns)
            let cost = cost(engine)
            wasInterrupted = isOver && away.ended_ns > 0 && cost.spun_ns > spent.spun_ns
            if !wasInterrupted { continue }
            let most_ns = ended_ns - begun_ns - (away.ended_ns - away.begun_ns)
            #expect(cost.spun_ns - spent.spun_ns <= most_ns)
            #expect(spent.left_ns - cost.left_ns <= Double(most_ns))
        }
    }

    private let epoch_ns = MonotonicInstant.now.nanoseconds

    private func cost(_ engine: TimerEngine) -> (spun_ns: Int64, left_ns: Double) {
        // Both for one instant, so that the budget earns nothing in between.
        let left_ns = hrt_spin_budget_left_ns(engine.core.spinBudget.c, epoch_ns)
        return (engine.core.spunOutside_ns.load(ordering: .relaxed), left_ns)
    }
}
