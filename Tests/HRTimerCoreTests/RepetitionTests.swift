import HRTimerCore
import Testing

@Suite struct RepetitionTests {
    private func every(_ interval_ns: Int64, _ policy: MissedTickPolicy) -> Repetition {
        Repetition(every: .nanoseconds(interval_ns), policy: policy)
    }

    @Test("A timer that fires once has no next deadline")
    func once() {
        #expect(Repetition.once.tick(deadline_ns: 5, now_ns: 9) == .init(isCalled: true, missed: 0, next_ns: nil))
        #expect(!Repetition.once.repeats)
    }

    @Test("An interval of zero or less counts as 0.1 ms, like NSTimer's", arguments: [0, -1, Int64.min])
    func nonpositive(_ interval_ns: Int64) {
        #expect(every(interval_ns, .merge).interval_ns == 100_000)
    }

    @Test("On time, the next deadline is one interval on, and nothing was missed", arguments: MissedTickPolicy.allCases)
    func onTime(_ policy: MissedTickPolicy) {
        let tick = every(10, policy).tick(deadline_ns: 100, now_ns: 100)
        #expect(tick.isCalled && tick.missed == 0)
        #expect(tick.next_ns == (policy == .delay ? nil : 110))
    }

    @Test("Merge: 35 late at interval 10 is one call for three missed, and the grid stays")
    func merge() {
        #expect(every(10, .merge).tick(deadline_ns: 100, now_ns: 135) == .init(isCalled: true, missed: 3, next_ns: 140))
    }

    @Test("Merge: exactly one interval late, the deadline that has just come is merged")
    func mergeAtTheNextDeadline() {
        #expect(every(10, .merge).tick(deadline_ns: 100, now_ns: 110) == .init(isCalled: true, missed: 1, next_ns: 120))
    }

    @Test("Burst: the next deadline may lie in the past")
    func burst() {
        #expect(every(10, .burst).tick(deadline_ns: 100, now_ns: 135) == .init(isCalled: true, missed: 0, next_ns: 110))
    }

    @Test("Skip: a tick late by an interval or more has no call and is counted; a lesser delay has its call")
    func skip() {
        #expect(every(10, .skip).tick(deadline_ns: 100, now_ns: 135) == .init(isCalled: false, missed: 4, next_ns: 140))
        #expect(every(10, .skip).tick(deadline_ns: 100, now_ns: 109) == .init(isCalled: true, missed: 0, next_ns: 110))
    }

    @Test("Centuries missed at a nanosecond are counted in one step, and nothing overflows")
    func extremes() {
        let tick = every(1, .merge).tick(deadline_ns: .min, now_ns: .max - 1)
        #expect(tick.missed == .max)
        #expect(tick.next_ns == .max)
        #expect(every(.max, .merge).tick(deadline_ns: 5, now_ns: 6).next_ns == .max)
        #expect(every(.max, .burst).tick(deadline_ns: .max - 1, now_ns: .max - 1).next_ns == .max)
    }
}
