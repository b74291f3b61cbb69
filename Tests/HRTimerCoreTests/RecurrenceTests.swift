// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import Testing

@Suite struct RecurrenceTests {
    private func every(_ interval_ns: Int64, _ policy: MissedTickPolicy) -> Recurrence {
        Recurrence(every: .nanoseconds(interval_ns), policy: policy)
    }

    /// The result of `begin`, and the position after it.
    private struct Begun: Equatable {
        var reported: Int?
        var position: GridPosition
    }

    private func begin(_ recurrence: Recurrence, _ deadline_ns: Int64, unreported: Int = 0, at now_ns: Int64) -> Begun {
        var position = GridPosition(deadline_ns: deadline_ns, unreported: unreported)
        let reported = recurrence.begin(&position, now_ns: now_ns)
        return Begun(reported: reported, position: position)
    }

    private func end(_ recurrence: Recurrence, _ position: GridPosition, at now_ns: Int64) -> GridPosition {
        var position = position
        recurrence.end(&position, now_ns: now_ns)
        return position
    }

    @Test("A timer that fires once has no next deadline")
    func once() {
        let begun = begin(.once, 5, at: 9)
        #expect(begun == Begun(reported: 0, position: GridPosition(deadline_ns: .max)))
        #expect(end(.once, begun.position, at: 100) == begun.position)
        #expect(!Recurrence.once.repeats)
    }

    @Test("An interval of zero or less counts as 0.1 ms, like NSTimer's", arguments: [0, -1, Int64.min])
    func nonpositive(_ interval_ns: Int64) {
        #expect(every(interval_ns, .merge).interval.whole_ns == 100_000)
    }

    @Test("A call on time misses no tick, and the next one is an interval later", arguments: MissedTickPolicy.allCases)
    func onTime(_ policy: MissedTickPolicy) {
        let begun = begin(every(10, policy), 100, at: 100)
        #expect(begun.reported == 0)
        #expect(end(every(10, policy), begun.position, at: 100) == GridPosition(deadline_ns: 110))
    }

    @Test("Both merge policies: a call 35 ns late at interval 10 reports three missed ticks and keeps the grid")
    func merge() {
        for policy in [MissedTickPolicy.merge, .mergeToGrid] {
            #expect(
                begin(every(10, policy), 100, at: 135) == Begun(reported: 3, position: GridPosition(deadline_ns: 140))
            )
        }
    }

    @Test("Merge: a call exactly one interval late merges the deadline that has just come")
    func mergeAtTheNextDeadline() {
        #expect(begin(every(10, .merge), 100, at: 110) == Begun(reported: 1, position: GridPosition(deadline_ns: 120)))
        #expect(begin(every(10, .merge), 100, at: 109) == Begun(reported: 0, position: GridPosition(deadline_ns: 110)))
    }

    @Test("After an overrun merge, like GCD, calls at once with the count; mergeToGrid, like NSTimer, at the next tick")
    func overrun() {
        func next(_ policy: MissedTickPolicy) -> Begun {
            let position = end(every(10, policy), begin(every(10, policy), 100, at: 100).position, at: 135)
            return begin(
                every(10, policy),
                position.deadline_ns,
                unreported: position.unreported,
                at: max(135, position.deadline_ns)
            )
        }
        #expect(next(.merge) == Begun(reported: 2, position: GridPosition(deadline_ns: 140)))
        #expect(next(.mergeToGrid) == Begun(reported: 3, position: GridPosition(deadline_ns: 150)))
        #expect(next(.burst) == Begun(reported: 0, position: GridPosition(deadline_ns: 120)))
        #expect(next(.skip) == Begun(reported: nil, position: GridPosition(deadline_ns: 140, unreported: 3)))
        #expect(next(.delay) == Begun(reported: 0, position: GridPosition(deadline_ns: .max)))
    }

    @Test("Merge to grid: a handler that ends at a deadline has missed it; one that ends just before has not")
    func overrunToTheNanosecond() {
        let position = begin(every(10, .mergeToGrid), 100, at: 100).position
        #expect(end(every(10, .mergeToGrid), position, at: 109) == GridPosition(deadline_ns: 110))
        #expect(end(every(10, .mergeToGrid), position, at: 110) == GridPosition(deadline_ns: 120, unreported: 1))
    }

    @Test("Burst: the next deadline may lie in the past")
    func burst() {
        #expect(begin(every(10, .burst), 100, at: 135) == Begun(reported: 0, position: GridPosition(deadline_ns: 110)))
    }

    @Test("Skip: a tick late by an interval or more is counted without a call; a tick less late is called")
    func skip() {
        let skip = every(10, .skip)
        #expect(
            begin(skip, 100, at: 135) == Begun(reported: nil, position: GridPosition(deadline_ns: 140, unreported: 4))
        )
        #expect(
            begin(skip, 100, unreported: 4, at: 109) == Begun(reported: 4, position: GridPosition(deadline_ns: 110))
        )
    }

    @Test("Delay: the interval begins when the handler returns")
    func delay() {
        let begun = begin(every(10, .delay), 100, at: 135)
        #expect(begun.reported == 0)
        #expect(end(every(10, .delay), begun.position, at: 200) == GridPosition(deadline_ns: 210))
    }

    @Test("Centuries of missed ticks at 1 ns are counted in one step, and nothing overflows")
    func extremes() {
        let begun = begin(every(1, .merge), .min, unreported: 5, at: .max - 1)
        #expect(begun == Begun(reported: .max, position: GridPosition(deadline_ns: .max)))
        #expect(begin(every(.max, .merge), 5, at: 6).position.deadline_ns == .max)
        #expect(begin(every(.max, .burst), .max - 1, at: .max - 1).position.deadline_ns == .max)
        #expect(begin(every(1, .skip), .min, unreported: .max, at: .max - 1).position.unreported == .max)
    }

    @Test("A tolerance is limited to half the interval, and is never below zero")
    func tolerance() {
        #expect(every(10, .merge).tolerance_ns(requested: 6) == 5)
        #expect(every(10, .merge).tolerance_ns(requested: 5) == 5)
        #expect(every(10, .merge).tolerance_ns(requested: -1) == 0)
        #expect(Recurrence.once.tolerance_ns(requested: .max) == .max)
    }
}
