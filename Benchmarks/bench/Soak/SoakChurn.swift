// SPDX-License-Identifier: Apache-2.0
import CBench
import Glibc
import HRTimer
import Seeded
import Synchronization

/// Arms, moves and cancels timers beside those that fire: timeouts that are moved before they come, and short one-shots,
/// half of which are cancelled. Each armed one-shot must either fire or be cancelled, exactly once.
final class SoakChurn: Sendable {
    struct Counts: Sendable, Equatable {
        var armed = 0
        var cancelled = 0
        var fired = 0
        var early = 0
        var moved = 0
        /// Timeouts that fired before their deadline, although they were moved.
        var movedEarly = 0

        /// Timers that were armed, and neither fired nor were cancelled; negative if some did both.
        var lost: Int { armed - cancelled - fired }
    }

    private let engine: TimerEngine
    private let fired = Atomic(0)
    private let early = Atomic(0)
    private let movedEarly = Atomic(0)
    private let counts = Locked(Counts())
    private static let timeouts = 200
    private static let perTurn = 20

    init() throws {
        engine = try TimerEngine(.init(name: "bench-churn"))
    }

    /// Makes some 20 operations of each kind every 10 ms, on the calling thread, until `isOver` returns true. Armed
    /// one-shots then still fire.
    func run(seed: UInt64, isOver: () -> Bool) {
        var random = SeededRandom(seed: seed)
        let kept = (0..<Self.timeouts).map { _ in Timeout(engine, self) }
        while !isOver() {
            for _ in 0..<Self.perTurn { kept[Int.random(in: 0..<Self.timeouts, using: &random)].moveLater() }
            let tokens = (0..<Self.perTurn).map { _ in arm(after_ns: Int64.random(in: 1...30_000_000, using: &random)) }
            usleep(10_000)
            let cancelled = tokens.prefix(Self.perTurn / 2).filter { engine.cancel($0) }.count
            counts.withLock { counts in
                counts.armed += tokens.count
                counts.cancelled += cancelled
                counts.moved += Self.perTurn
            }
        }
        for timeout in kept { timeout.end() }
    }

    private func arm(after_ns: Int64) -> TimerToken {
        let deadline_ns = cbench_now_ns() + after_ns
        return engine.schedule(at: MonotonicInstant(nanoseconds: deadline_ns)) { [self] _ in
            if cbench_now_ns() < deadline_ns { early.add(1, ordering: .relaxed) }
            fired.add(1, ordering: .relaxed)
        }
    }

    var soFar: Counts {
        var counts = counts.withLock { $0 }
        counts.fired = fired.load(ordering: .relaxed)
        counts.early = early.load(ordering: .relaxed)
        counts.movedEarly = movedEarly.load(ordering: .relaxed)
        return counts
    }

    func end() { engine.shutdown() }

    /// A connection's timeout, which is moved before it comes.
    private final class Timeout: Sendable {
        private let source: TimerSource
        /// The last two deadlines: during a move either may be in effect.
        private let deadline_ns: Atomic<Int64>
        private let before_ns: Atomic<Int64>
        private static let length_ns: Int64 = 20_000_000_000

        init(_ engine: TimerEngine, _ churn: SoakChurn) {
            let first_ns = cbench_now_ns() + Self.length_ns
            deadline_ns = Atomic(first_ns)
            before_ns = Atomic(first_ns)
            source = TimerSource(engine: engine)
            source.setEventHandler { [weak self, weak churn] in
                guard let self, let churn else { return }
                let now_ns = cbench_now_ns()
                let least_ns = min(
                    deadline_ns.load(ordering: .acquiring),
                    before_ns.load(ordering: .acquiring)
                )
                if now_ns < least_ns { churn.movedEarly.add(1, ordering: .relaxed) }
            }
            source.schedule(deadline: MonotonicInstant(nanoseconds: first_ns))
            source.activate()
        }

        func moveLater() {
            before_ns.store(deadline_ns.load(ordering: .relaxed), ordering: .releasing)
            let next_ns = cbench_now_ns() + Self.length_ns
            deadline_ns.store(next_ns, ordering: .releasing)
            source.schedule(deadline: MonotonicInstant(nanoseconds: next_ns))
        }

        func end() { source.cancel() }
    }
}
