// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import Glibc
import HRTimerCore
import TestSupport
import TestTraits
import Testing

@testable import HRTimer

/// Changes by other threads while a loop's thread spins up to a timer's deadline. The spin window is taught that wakes come
/// 12 ms late, so that the thread spins long enough for the test to catch it. Where a busy machine prevents that, the next
/// round counts.
@Suite(.serialized) struct LoopSpinContractTests {
    private let worker: LoopThread
    private let calls = Recorder<MonotonicInstant>()

    private var loop: TimerLoop { worker.loop }

    init() throws {
        worker = try TimerLoop.thread(name: "precise", precision: .precise)
        worker.loop.spinBudget = 1
    }

    /// Teaches the spin window in a handler, since it belongs to the loop's thread. A few punctual wakes would undo that.
    private func learnToSpin() {
        let hasLearned = DispatchSemaphore(value: 0)
        let waiter = loop.waiter
        // The first precise wait makes the spin window.
        let timer = LoopTimer(timeInterval: .microseconds(100), repeats: true) { timer in
            guard let window = waiter.window else { return }
            window.learnThatWakesAreLate()
            timer.invalidate()
            hasLearned.signal()
        }
        loop.add(timer, forMode: .default)
        hasLearned.wait()
    }

    private func waitUntilSpinning(upTo deadline: MonotonicInstant) -> Bool {
        while MonotonicInstant.now < deadline {
            if loop.core.state.withLock({ $0.core.isSpinning }) { return true }
            usleep(50)
        }
        return false
    }

    /// Returns whether the thread sleeps, or spins up to another deadline, before this one has come.
    private func hasLeft(_ deadline: MonotonicInstant) -> Bool {
        while MonotonicInstant.now < deadline {
            let until_ns = loop.core.state.withLock { $0.core.parkedUntil_ns }
            // Sleeps, so that the loop's thread gets the processor.
            usleep(50)
            if until_ns != .min, until_ns != deadline.nanoseconds { return MonotonicInstant.now < deadline }
        }
        return false
    }

    /// Returns true as soon as a round does, of as many as a busy machine may need. Calls a round while the thread spins up to
    /// its timer.
    private func inSomeRound(
        handler: @escaping @Sendable () -> Void = {},
        _ round: (_ timer: LoopTimer, _ deadline: MonotonicInstant) -> Bool
    ) -> Bool {
        for _ in 0..<200 {
            learnToSpin()
            let deadline = MonotonicInstant.now.advanced(by: .milliseconds(10))
            let timer = LoopTimer(fireAt: deadline, interval: .zero, repeats: false) { [calls] timer in
                calls.append(timer.fireInstant)
                #expect(MonotonicInstant.now >= timer.fireInstant)
                handler()
            }
            loop.add(timer, forMode: .default)
            defer { timer.invalidate() }
            if waitUntilSpinning(upTo: deadline), round(timer, deadline) { return true }
        }
        return false
    }

    @Test(
        "A timer invalidated, removed or moved later while the thread spins up to it is not called; the spin ends",
        .hangLimit,
        arguments: ["invalidated", "removed", "moved"]
    )
    func withdrawn(action: String) {
        let isLeft = inSomeRound { timer, deadline in
            let before = calls.count
            switch action {
            case "invalidated": timer.invalidate()
            case "removed": loop.remove(timer, forMode: .default)
            default: timer.fireInstant = deadline.advanced(by: .seconds(3600))
            }
            guard hasLeft(deadline) else { return false }
            blockThread(until: deadline.nanoseconds + 100_000)
            return calls.count == before
        }
        #expect(isLeft)
        worker.shutdown()
    }

    @Test(
        "A timer that is moved sooner while the thread spins up to it fires at its new deadline, before the former",
        .hangLimit
    )
    func movedSooner() {
        let isSooner = inSomeRound { timer, deadline in
            let before = calls.count
            let sooner = deadline.advanced(by: Duration.milliseconds(-4))
            timer.fireInstant = sooner
            while calls.count == before, MonotonicInstant.now < deadline { usleep(50) }
            return calls.all.dropFirst(before) == [sooner]
        }
        #expect(isSooner)
        worker.shutdown()
    }

    @Test("A timer is not called if its thread is shut down while it spins up to it", .hangLimit)
    func ended() {
        let isMet = inSomeRound { timer, deadline in
            worker.shutdown()
            #expect(calls.all.allSatisfy { $0 != deadline } || MonotonicInstant.now >= deadline)
            #expect(!timer.isValid)
            return true
        }
        #expect(isMet)
    }

    @Test("A timer whose deadline is the limit of a run is waited for precisely; a limit before the next timer is not")
    func limits() {
        for (timerIsAfter, isPrecise) in [(Duration.zero, true), (.seconds(3600), false)] {
            let loop = TimerLoop(precision: .precise)
            let limit = MonotonicInstant.now.advanced(by: .milliseconds(20))
            let deadline = limit.advanced(by: timerIsAfter)
            let timer = LoopTimer(fireAt: deadline, interval: .zero, repeats: false) { _ in }
            loop.add(timer, forMode: .default)
            loop.run(until: limit)
            // The first precise wait makes the spin window.
            #expect((loop.waiter.window != nil) == isPrecise)
            timer.invalidate()
        }
        worker.shutdown()
    }
}
