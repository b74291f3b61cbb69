// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import Synchronization
import TestSupport
import Testing

/// Rounds a face: few in an ordinary run, by hand HRTIMER_WITHDRAWALS=1000000, best under a sanitizer
/// or with MALLOC_PERTURB_=165, mallopt(3), so that no use of freed memory is overlooked.
let roundsOfWithdrawal = environment("HRTIMER_WITHDRAWALS").flatMap { Int($0) } ?? 3000

/// Handlers of prepared calls, which other threads free before the deadline comes.
@Suite(.serialized, .timeLimit(.minutes(roundsOfWithdrawal > 10_000 ? 60 : 15))) struct WithdrawnHandlerTests {
    enum Face: String, CaseIterable, Sendable { case engine, source, loop }

    @Test(
        "A precise timer that another thread ends while its call is prepared frees its handler once, and harms nothing",
        arguments: Face.allCases
    )
    func endWhilePrepared(_ face: Face) throws {
        var random = SeededRandom.fromEnvironment()
        let (canaries, calls) = (Canaries(), Calls())
        var refused = 0
        let engine = try TimerEngine(precision: .precise)
        let worker = try TimerLoop.thread(precision: .precise)
        for _ in 0..<roundsOfWithdrawal {
            let canary = canaries.make()
            let count = { @Sendable () -> Void in
                withExtendedLifetime(canary) { _ = calls.count.add(1, ordering: .relaxed) }
            }
            let length_ns = Int64.random(in: 20_000...120_000, using: &random)
            let deadline = MonotonicInstant.now.advanced(by: .nanoseconds(length_ns))
            let end: () -> Void
            switch face {
            case .engine:
                let token = engine.schedule(at: deadline) { _ in count() }
                end = { if !engine.cancel(token) { refused += 1 } }
            case .source:
                let source = TimerSource(engine: engine)
                source.setEventHandler(handler: count)
                source.schedule(deadline: deadline)
                source.activate()
                end = {
                    source.setEventHandler(handler: nil)
                    source.cancel()
                }
            case .loop:
                let timer = LoopTimer(fireAt: deadline) { _ in count() }
                worker.loop.add(timer, forMode: .default)
                end = { timer.invalidate() }
            }
            // Around the moment at which the thread prepares the call and spins.
            let end_ns = deadline.nanoseconds - Int64.random(in: -2_000...min(length_ns, 60_000), using: &random)
            while MonotonicInstant.now.nanoseconds < end_ns {}
            end()
        }
        worker.shutdown()
        engine.shutdown()
        #expect(canaries.count == 0)
        let total = calls.count.load(ordering: .relaxed)
        #expect(face == .engine ? total == refused : total <= roundsOfWithdrawal)
    }

    private final class Calls: Sendable { let count = Atomic(0) }
}
