import CHRTimer
import Dispatch
import Glibc
import HRTimer
import TestSupport
import Testing

@testable import HRTimerCore

/// What other threads do to an engine whose thread spins up to a deadline. Its spin window has learned that wakes come 12 ms late,
/// so that it spins long enough to be met there: where a busy machine keeps a round from that, the next one counts.
@Suite(.serialized) struct EngineSpinContractTests {
    private let engine: TimerEngine
    private let calls = Recorder<TimerFire>()

    init() throws {
        var configuration = TimerEngine.Configuration(name: "contract", precision: .precise)
        configuration.spinBudget = 1
        engine = try TimerEngine(configuration)
    }

    /// In a handler, since the spin window is the engine's thread's. A few wakes that are in time would teach it better.
    private func learnToSpin() {
        let hasLearned = DispatchSemaphore(value: 0)
        let window = engine.core.window
        engine.schedule(at: .distantPast) { _ in
            window.learnThatWakesAreLate()
            hasLearned.signal()
        }
        hasLearned.wait()
    }

    /// The thread spins up to that deadline. False once it has come.
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

    /// The thread sleeps, or spins up to another deadline, while this one has not come.
    private func hasLeft(_ deadline: MonotonicInstant) -> Bool {
        while engine.now < deadline {
            let until_ns = engine.core.state.withLock { $0.parkedUntil_ns }
            // Sleeping, so that the thread has the processor.
            usleep(50)
            if until_ns != .min, until_ns != deadline.nanoseconds { return engine.now < deadline }
        }
        return false
    }

    /// True as soon as a round is, of as many as a busy machine may need.
    private func inSomeRound(_ round: (_ deadline: MonotonicInstant) -> Bool) -> Bool {
        for _ in 0..<1000 {
            learnToSpin()
            if round(engine.now.advanced(by: .milliseconds(10))) { return true }
        }
        return false
    }

    @Test("Cancelled while the thread spins up to it, a timer is not called, nor spun for longer")
    func cancelled() {
        let isLeft = inSomeRound { deadline in
            let timer = engine.schedule(at: deadline, handler: calls.append)
            guard waitUntilSpinning(upTo: deadline), engine.cancel(timer) else { return false }
            return hasLeft(deadline)
        }
        #expect(isLeft)
        engine.shutdown()
    }

    @Test("In the last microseconds of a spin a timer can be cancelled no more, and is called, never early")
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
        #expect(isTooLate)
        engine.shutdown()
    }

    @Test(
        "Cancelled, suspended or moved later while the thread spins up to it, a source is not called, nor spun for longer",
        arguments: ["cancelled", "suspended", "moved"]
    )
    func source(deed: String) {
        let count = Recorder<MonotonicInstant>()
        let isLeft = inSomeRound { deadline in
            let source = TimerSource(engine: engine)
            source.setEventHandler { count.append(.now) }
            source.schedule(deadline: deadline, repeating: .seconds(3600))
            source.activate()
            defer { source.cancelAndWait() }
            let before = count.count
            guard waitUntilSpinning(upTo: deadline) else { return false }
            switch deed {
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

    @Test("Moved sooner while the thread spins up to it, a timer is called before its former deadline, and not twice")
    func movedSooner() {
        let isSooner = inSomeRound { deadline in
            let timer = engine.schedule(at: deadline, handler: calls.append)
            guard waitUntilSpinning(upTo: deadline) else { return false }
            let sooner = deadline.advanced(by: Duration.milliseconds(-4))
            engine.reschedule(timer, at: sooner)
            blockThread(until: deadline.nanoseconds + 100_000)
            guard let last = calls.all.last else { return false }
            return last.deadline == sooner && last.firedAt < deadline
        }
        #expect(isSooner)
        engine.shutdown()
        #expect(Set(calls.all.map(\.token)).count == calls.count)
        #expect(calls.all.allSatisfy { $0.firedAt >= $0.deadline })
    }

    @Test("Moved later while the thread spins up to it, a timer is called at its new deadline alone")
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

    @Test("A wake that has no reason any more does not make the call early", .timeLimit(.minutes(15)))
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
