// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

@testable import HRTimerCore

/// Changes by other threads while an engine's thread spins up to a deadline. The spin window is taught that wakes come 12 ms
/// late, so that the thread spins long enough for the test to catch it. Where a busy machine prevents that, the next round
/// counts.
@Suite(.serialized, .hangLimit) struct EngineSpinContractTests {
    private let engine: TimerEngine
    private let calls = Recorder<TimerFire>()

    init() throws {
        var configuration = TimerEngine.Configuration(name: "contract", precision: .precise)
        configuration.spinBudget = 1
        engine = try TimerEngine(configuration)
    }

    /// Teaches the spin window in a handler, since it belongs to the engine's thread. A few punctual wakes would undo that.
    private func learnToSpin() {
        let hasLearned = DispatchSemaphore(value: 0)
        let window = engine.core.window
        engine.schedule(at: .distantPast) { _ in
            window.learnThatWakesAreLate()
            hasLearned.signal()
        }
        hasLearned.wait()
    }

    /// Waits until the thread spins up to that deadline. Returns false once the deadline has come.
    private func waitUntilSpinning(upTo deadline: MonotonicInstant) -> Bool {
        while engine.now < deadline {
            let isSpinning = engine.core.state.withLock { state in
                state.running != nil && state.parkedUntil_ns == deadline.nanoseconds
            }
            if isSpinning { return true }
            usleep(50)
        }
        return false
    }

    /// Returns whether the thread sleeps, or spins up to another deadline, before this one has come.
    private func hasLeft(_ deadline: MonotonicInstant) -> Bool {
        while engine.now < deadline {
            let until_ns = engine.core.state.withLock { $0.parkedUntil_ns }
            // Sleeps, so that the engine's thread gets the processor.
            usleep(50)
            if until_ns != .min, until_ns != deadline.nanoseconds { return engine.now < deadline }
        }
        return false
    }

    /// Returns true as soon as a round does, of as many rounds as a busy machine may need: a thousand, and more for up to
    /// 90 s, since this thread and the engine's must have a processor each in the same microseconds.
    private func inSomeRound(_ round: (_ deadline: MonotonicInstant) -> Bool) -> Bool {
        let end = engine.now.advanced(by: .seconds(90))
        var rounds = 0
        while rounds < 1000 || !isSanitized && engine.now < end {
            learnToSpin()
            if round(engine.now.advanced(by: .milliseconds(10))) { return true }
            rounds += 1
        }
        return false
    }

    @Test("A timer that is cancelled while the thread spins up to it is not called, and the spin ends")
    func cancelled() {
        let isLeft = inSomeRound { deadline in
            let timer = engine.schedule(at: deadline, handler: calls.append)
            guard waitUntilSpinning(upTo: deadline), engine.cancel(timer) else { return false }
            return hasLeft(deadline)
        }
        #expect(isLeft)
        engine.shutdown()
    }

    @Test("In the last microseconds of a spin a timer can no longer be cancelled: it is called, and never early")
    func tooLate() {
        let isTooLate = inSomeRound { deadline in
            let before = calls.count
            let timer = engine.schedule(at: deadline, handler: calls.append)
            guard waitUntilSpinning(upTo: deadline) else { return false }
            var isCommitted = false
            while !isCommitted, engine.now < deadline {
                isCommitted = engine.core.commit.isCommitted && engine.now < deadline
            }
            let isCancelled = engine.cancel(timer)
            if isCommitted { #expect(!isCancelled) }
            while !isCancelled, calls.count == before { usleep(50) }
            #expect(calls.all.dropFirst(before).allSatisfy { $0.firedAt >= $0.deadline })
            return isCommitted
        }
        // Under Thread Sanitizer the way from the spin to the commit may take longer than those microseconds in every round.
        #expect(isTooLate || isSanitized)
        engine.shutdown()
    }

    @Test(
        "A source cancelled, suspended or moved later while the thread spins up to it is not called; the spin ends",
        arguments: ["cancelled", "suspended", "moved"]
    )
    func source(action: String) {
        let count = Recorder<MonotonicInstant>()
        let isLeft = inSomeRound { deadline in
            let source = TimerSource(engine: engine)
            source.setEventHandler { count.append(.now) }
            source.schedule(deadline: deadline, repeating: .seconds(3600))
            source.activate()
            defer { source.cancelAndWait() }
            let before = count.count
            guard waitUntilSpinning(upTo: deadline) else { return false }
            switch action {
            case "cancelled": source.cancel()
            case "suspended": source.suspend()
            default: source.schedule(deadline: deadline.advanced(by: .seconds(1)), repeating: .seconds(3600))
            }
            guard hasLeft(deadline) else { return false }
            blockThread(until: deadline.nanoseconds + 100_000)
            return count.count == before
        }
        #expect(isLeft)
        engine.shutdown()
    }

    @Test("A timer that is moved sooner while the thread spins up to it fires before its former deadline, and once")
    func movedSooner() {
        let movedLate = Recorder<TimerToken>()
        let isSooner = inSomeRound { deadline in
            let timer = engine.schedule(at: deadline, handler: calls.append)
            guard waitUntilSpinning(upTo: deadline) else { return false }
            let sooner = deadline.advanced(by: Duration.milliseconds(-4))
            engine.reschedule(timer, at: sooner)
            if engine.now >= deadline { movedLate.append(timer) }
            blockThread(until: deadline.nanoseconds + 100_000)
            guard let last = calls.all.last else { return false }
            return last.deadline == sooner && last.firedAt < deadline
        }
        #expect(isSooner)
        engine.shutdown()
        for (timer, itsCalls) in Dictionary(grouping: calls.all, by: \.token) where itsCalls.count > 1 {
            // On a busy machine a timer may be moved inside its call. It then has a second one, for the new deadline.
            #expect(movedLate.all.contains(timer))
            #expect(itsCalls.count == 2 && itsCalls[0].deadline > itsCalls[1].deadline)
        }
        #expect(calls.all.allSatisfy { $0.firedAt >= $0.deadline })
    }

    @Test("A timer that is moved later while the thread spins up to it fires only at its new deadline")
    func movedLater() {
        let isLater = inSomeRound { deadline in
            let before = calls.count
            let timer = engine.schedule(at: deadline, handler: calls.append)
            guard waitUntilSpinning(upTo: deadline) else { return false }
            let later = deadline.advanced(by: .milliseconds(1))
            engine.reschedule(timer, at: later)
            blockThread(until: later.nanoseconds + 1_000_000)
            return calls.all.dropFirst(before).map(\.deadline) == [later]
        }
        #expect(isLater)
        engine.shutdown()
        #expect(calls.all.allSatisfy { $0.firedAt >= $0.deadline })
    }

    @Test("A wake that has no reason any more does not make a spun call early")
    func wokenForNothing() {
        var rounds = 0
        _ = inSomeRound { deadline in
            engine.schedule(at: deadline, handler: calls.append)
            while waitUntilSpinning(upTo: deadline) {
                engine.core.wake()
                usleep(100)
            }
            rounds += 1
            return rounds == 10
        }
        while calls.count < rounds { usleep(100) }
        engine.shutdown()
        #expect(calls.count == 10)
        #expect(calls.all.allSatisfy { $0.firedAt >= $0.deadline })
    }
}
