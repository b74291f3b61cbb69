// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import TestSupport
import Testing

/// The position of a timer in a sequence of dates, which are computed one at a time.
@Suite struct DatePositionTests {
    /// The dates of a list.
    private struct Listed: DateSequence {
        let dates_ns: [Int64]

        func first(after instant_ns: Int64) -> Int64 { dates_ns.first { $0 > instant_ns } ?? .max }
    }

    /// Dates at equal intervals without end. Records each request.
    private struct Equal: DateSequence {
        let interval_ns: Int64
        let asked = Recorder<Int64>()

        func first(after instant_ns: Int64) -> Int64 {
            asked.append(instant_ns)
            return (instant_ns / interval_ns + 1) * interval_ns
        }
    }

    @Test("At equal intervals, dates give the same decisions as a recurrence", arguments: MissedTickPolicy.allCases)
    func model(policy: MissedTickPolicy) {
        var random = SeededRandom.fromEnvironment()
        let recurrence = Recurrence(every: .nanoseconds(100), policy: policy)
        var grid = GridPosition(deadline_ns: 100)
        var dates = DatePosition(Equal(interval_ns: 100), after: 0, policy)
        var now_ns: Int64 = 0
        for _ in 0..<5000 {
            #expect(dates.deadline_ns == grid.deadline_ns)
            now_ns = max(now_ns, dates.deadline_ns)
            if Bool.random(using: &random) { now_ns += .random(in: 0...350, using: &random) }
            let reported = dates.begin(now_ns: now_ns)
            #expect(reported == recurrence.begin(&grid, now_ns: now_ns))
            if reported != nil {
                if Bool.random(using: &random) { now_ns += .random(in: 0...350, using: &random) }
                dates.end(now_ns: now_ns)
                recurrence.end(&grid, now_ns: now_ns)
                // With .delay the recurrence counts from the end of the handler; the next date stays on the dates' grid.
                if policy == .delay {
                    #expect(dates.deadline_ns > now_ns && dates.deadline_ns <= grid.deadline_ns)
                    grid.deadline_ns = dates.deadline_ns
                }
            }
            #expect(dates.unreported == grid.unreported)
        }
    }

    @Test("After the last date there is no next deadline")
    func last() {
        var position = DatePosition(Listed(dates_ns: [10, 30]), after: 10, .merge)
        #expect(position.deadline_ns == 30)
        #expect(position.begin(now_ns: 35) == 0)
        position.end(now_ns: 36)
        #expect(position.deadline_ns == .max)
        #expect(DatePosition(Listed(dates_ns: [10]), after: 10, .merge).deadline_ns == .max)
    }

    @Test("A call moved before its date is followed by that date; a call moved later is followed by the next date")
    func moved() {
        var position = DatePosition(Listed(dates_ns: [10, 30, 50, 70]), after: 0, .merge)
        position.move(to: 5)
        #expect(position.begin(now_ns: 5) == 0)
        #expect(position.deadline_ns == 10)
        position.move(to: 55)
        #expect(position.begin(now_ns: 55) == 0)
        #expect(position.deadline_ns == 70)
    }

    @Test("A call that is on time asks for no date before its handler runs")
    func lazy() {
        let dates = Equal(interval_ns: 100)
        var position = DatePosition(dates, after: 0, .merge)
        _ = position.begin(now_ns: 100)
        position.end(now_ns: 101)
        for deadline_ns in stride(from: Int64(200), to: 1000, by: 100) {
            let before = dates.asked.count
            #expect(position.begin(now_ns: deadline_ns) == 0)
            #expect(dates.asked.count == before)
            position.end(now_ns: deadline_ns)
            #expect(dates.asked.count == before + 1)
        }
    }

    @Test("Missed dates are counted up to a thousand; all further ones are skipped at once")
    func bounded() {
        let dates = Equal(interval_ns: 100)
        var position = DatePosition(dates, after: 0, .merge)
        #expect(position.begin(now_ns: 1_000_000_050) == DatePosition.longestCount)
        #expect(position.deadline_ns == 1_000_000_100)
        #expect(dates.asked.count < DatePosition.longestCount + 10)
    }

    @Test(
        "After a step back a missed date comes if fifteen late calls have followed, and not if sixteen have",
        arguments: [(16, 20), (17, 40)]
    )
    func gaps(calls: Int, firstAfterStep_ns: Int64) {
        var position = DatePosition(Equal(interval_ns: 10), after: 0, .merge)
        for _ in 0..<calls {
            // Each call is late by one date, which it reports.
            let late_ns = position.deadline_ns + 15
            #expect(position.begin(now_ns: late_ns) == 1)
            position.end(now_ns: late_ns)
        }
        let isMoved = position.setClockBack(to: 5)
        #expect(isMoved && position.deadline_ns == firstAfterStep_ns)
    }

    @Test("After a step back come the dates that no call was for: missed ones and earlier ones, and none twice")
    func setBack() {
        var position = DatePosition(Equal(interval_ns: 100), after: 500, .merge)
        #expect(position.begin(now_ns: 600) == 0)
        #expect(position.begin(now_ns: 950) == 2)
        position.end(now_ns: 950)
        #expect(position.deadline_ns == 1000)
        let isMovedLittle = position.setClockBack(to: 910)
        let isMovedFar = position.setClockBack(to: 450)
        #expect(!isMovedLittle && isMovedFar)
        var dates: [Int64] = []
        while position.deadline_ns < 1200 {
            dates.append(position.deadline_ns)
            #expect(position.begin(now_ns: position.deadline_ns) == 0)
            position.end(now_ns: position.deadline_ns)
        }
        // Calls were for 600 and 700.
        #expect(dates == [500, 800, 900, 1000, 1100])
    }

    @Test(
        "A date that was missed long ago comes after a step back, however many calls there were since",
        arguments: [
            MissedTickPolicy.merge, .mergeToGrid, .skip,
        ]
    )
    func longAgo(policy: MissedTickPolicy) {
        var position = DatePosition(Equal(interval_ns: 100), after: 0, policy)
        // Without a call for 200.
        var now_ns: Int64 = 100
        while position.deadline_ns < 10_000 {
            now_ns = position.deadline_ns == 100 ? 250 : position.deadline_ns
            if position.begin(now_ns: now_ns) != nil { position.end(now_ns: now_ns) }
        }
        let isMoved = position.setClockBack(to: 50)
        #expect(isMoved)
        // With .skip no call was for 100 either.
        #expect(position.deadline_ns == (policy == .skip ? 100 : 200))
    }
}
