// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import HRTimer
import Synchronization
import TestSupport
import TestTraits
import Testing

/// Timers that cannot keep up, on an engine of their own and on the shared one. The tests count the calls between a deadline
/// and its own call; no bound is a length of time.
@Suite(.serialized, .ownThread, .hangLimit) struct BurstContractTests {
    enum Place: CaseIterable { case coalesced, normal, precise, shared }

    private func engine(_ place: Place) throws -> TimerEngine {
        switch place {
        case .coalesced: try TimerEngine(precision: .coalesced)
        case .normal: try TimerEngine(precision: .normal)
        case .precise: try TimerEngine(precision: .precise)
        case .shared: TimerEngine.shared
        }
    }

    @Test(
        "Beside 200 bursts of 100 ns a timer comes after one tick of each, by the engine's own clock readings",
        arguments: Place.allCases
    )
    func bursts(_ place: Place) throws {
        let engine = try engine(place)
        // For each burst: the clock readings at which its ticks came.
        let ticks = (0..<200).map { _ in Recorder<MonotonicInstant>() }
        let isOver = Atomic(false)
        let start = MonotonicInstant.now
        // Armed before the bursts, so that they are in the queue when their deadlines come.
        let done = DispatchSemaphore(value: 0)
        let found = Recorder<[Int]>()
        for index in 1...5 {
            engine.schedule(at: start.advanced(by: .milliseconds(50 + 4 * index))) { fire in
                found.append(ticks.map { ticks in ticks.all.count { $0 >= fire.deadline && $0 <= fire.firedAt } })
                ticks.forEach { $0.removeAll() }
                done.signal()
            }
        }
        let tokens = ticks.map { ticks in
            engine.schedule(at: start, every: .nanoseconds(100), policy: .burst) { fire in
                if !isOver.load(ordering: .relaxed) { ticks.append(fire.firedAt) }
            }
        }
        for _ in 1...5 { #expect(done.wait(timeout: .now() + 60) == .success) }
        isOver.store(true, ordering: .relaxed)
        for token in tokens { engine.cancel(token) }
        for counts in found.all {
            #expect(counts.allSatisfy { $0 <= 1 })
            // A handler that ran at the deadline, and one tick of each burst.
            #expect(counts.reduce(0, +) <= 201)
        }
    }

    @Test("A 10 µs source whose handler takes 20 µs delays another timer of the shared engine by two calls at most")
    func source() {
        let source = TimerSource()
        let begun = Recorder<MonotonicInstant>()
        source.policy = .burst
        source.setEventHandler {
            let now = MonotonicInstant.now
            begun.append(now)
            while MonotonicInstant.now < now.advanced(by: .microseconds(20)) {}
        }
        source.schedule(deadline: .now, repeating: .microseconds(10))
        source.activate()
        let done = DispatchSemaphore(value: 0)
        let between = Recorder<Int>()
        TimerEngine.shared.schedule(after: .milliseconds(300)) { fire in
            between.append(begun.all.count { $0 >= fire.deadline && $0 <= fire.firedAt })
            done.signal()
        }
        #expect(done.wait(timeout: .now() + 60) == .success)
        source.cancel()
        // One call that had been chosen before the deadline, and one tick.
        #expect(between.all.allSatisfy { $0 <= 2 } && between.count == 1)
    }
}
