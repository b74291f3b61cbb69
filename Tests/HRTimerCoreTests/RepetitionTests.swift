import HRTimerCore
import Testing

@Suite struct RepetitionTests {
    private func every(_ interval_ns: Int64, _ policy: MissedTickPolicy) -> Repetition {
        Repetition(every: .nanoseconds(interval_ns), policy: policy)
    }

    /// What a begin gave, and where it left the timer.
    private struct Begun: Equatable {
        var told: Int?
        var ticks: TickCount
    }

    private func begin(_ repetition: Repetition, _ deadline_ns: Int64, untold: Int = 0, at now_ns: Int64) -> Begun {
        var ticks = TickCount(deadline_ns: deadline_ns, untold: untold)
        let told = repetition.begin(&ticks, now_ns: now_ns)
        return Begun(told: told, ticks: ticks)
    }

    private func end(_ repetition: Repetition, _ ticks: TickCount, at now_ns: Int64) -> TickCount {
        var ticks = ticks
        repetition.end(&ticks, now_ns: now_ns)
        return ticks
    }

    @Test("A timer that fires once has no next deadline")
    func once() {
        let begun = begin(.once, 5, at: 9)
        #expect(begun == Begun(told: 0, ticks: TickCount(deadline_ns: .max)))
        #expect(end(.once, begun.ticks, at: 100) == begun.ticks)
        #expect(!Repetition.once.repeats)
    }

    @Test("An interval of zero or less counts as 0.1 ms, like NSTimer's", arguments: [0, -1, Int64.min])
    func nonpositive(_ interval_ns: Int64) {
        #expect(every(interval_ns, .merge).interval_ns == 100_000)
    }

    @Test("On time, the next deadline is one interval on, and nothing was missed", arguments: MissedTickPolicy.allCases)
    func onTime(_ policy: MissedTickPolicy) {
        let begun = begin(every(10, policy), 100, at: 100)
        #expect(begun.told == 0)
        #expect(end(every(10, policy), begun.ticks, at: 100) == TickCount(deadline_ns: 110))
    }

    @Test("Both merges: 35 late at interval 10 is one call for three missed, and the grid stays")
    func merge() {
        for policy in [MissedTickPolicy.merge, .mergeToGrid] {
            #expect(begin(every(10, policy), 100, at: 135) == Begun(told: 3, ticks: TickCount(deadline_ns: 140)))
        }
    }

    @Test("Merge: exactly one interval late, the deadline that has just come is merged")
    func mergeAtTheNextDeadline() {
        #expect(begin(every(10, .merge), 100, at: 110) == Begun(told: 1, ticks: TickCount(deadline_ns: 120)))
        #expect(begin(every(10, .merge), 100, at: 109) == Begun(told: 0, ticks: TickCount(deadline_ns: 110)))
    }

    @Test("A handler overruns its interval: GCD calls at once with the count, NSTimer at the next point of the grid")
    func overrun() {
        func next(_ policy: MissedTickPolicy) -> Begun {
            let ticks = end(every(10, policy), begin(every(10, policy), 100, at: 100).ticks, at: 135)
            return begin(every(10, policy), ticks.deadline_ns, untold: ticks.untold, at: max(135, ticks.deadline_ns))
        }
        #expect(next(.merge) == Begun(told: 2, ticks: TickCount(deadline_ns: 140)))
        #expect(next(.mergeToGrid) == Begun(told: 3, ticks: TickCount(deadline_ns: 150)))
        #expect(next(.burst) == Begun(told: 0, ticks: TickCount(deadline_ns: 120)))
        #expect(next(.skip) == Begun(told: nil, ticks: TickCount(deadline_ns: 140, untold: 3)))
        #expect(next(.delay) == Begun(told: 0, ticks: TickCount(deadline_ns: .max)))
    }

    @Test("Merge to the grid: a handler that ends at a deadline has missed it, one that ends just before has not")
    func overrunToTheNanosecond() {
        let ticks = begin(every(10, .mergeToGrid), 100, at: 100).ticks
        #expect(end(every(10, .mergeToGrid), ticks, at: 109) == TickCount(deadline_ns: 110))
        #expect(end(every(10, .mergeToGrid), ticks, at: 110) == TickCount(deadline_ns: 120, untold: 1))
    }

    @Test("Burst: the next deadline may lie in the past")
    func burst() {
        #expect(begin(every(10, .burst), 100, at: 135) == Begun(told: 0, ticks: TickCount(deadline_ns: 110)))
    }

    @Test("Skip: a tick late by an interval or more has no call and is counted; a lesser delay has its call")
    func skip() {
        let skip = every(10, .skip)
        #expect(begin(skip, 100, at: 135) == Begun(told: nil, ticks: TickCount(deadline_ns: 140, untold: 4)))
        #expect(begin(skip, 100, untold: 4, at: 109) == Begun(told: 4, ticks: TickCount(deadline_ns: 110)))
    }

    @Test("Delay: the interval begins when the handler has returned")
    func delay() {
        let begun = begin(every(10, .delay), 100, at: 135)
        #expect(begun.told == 0)
        #expect(end(every(10, .delay), begun.ticks, at: 200) == TickCount(deadline_ns: 210))
    }

    @Test("Centuries missed at a nanosecond are counted in one step, and nothing overflows")
    func extremes() {
        let begun = begin(every(1, .merge), .min, untold: 5, at: .max - 1)
        #expect(begun == Begun(told: .max, ticks: TickCount(deadline_ns: .max)))
        #expect(begin(every(.max, .merge), 5, at: 6).ticks.deadline_ns == .max)
        #expect(begin(every(.max, .burst), .max - 1, at: .max - 1).ticks.deadline_ns == .max)
        #expect(begin(every(1, .skip), .min, untold: .max, at: .max - 1).ticks.untold == .max)
    }

    @Test("A tolerance counts up to half the interval, and not below zero")
    func tolerance() {
        #expect(every(10, .merge).tolerance_ns(asked: 6) == 5)
        #expect(every(10, .merge).tolerance_ns(asked: 5) == 5)
        #expect(every(10, .merge).tolerance_ns(asked: -1) == 0)
        #expect(Repetition.once.tolerance_ns(asked: .max) == .max)
    }
}
