// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HRTimerCore

/// When a timer fires: what is decided when a call is prepared, and what is stored when the call has ended.
@Suite struct TimerScheduleTests {
    private func schedule(_ policy: MissedTickPolicy) -> TimerSchedule {
        var schedule = TimerSchedule(
            Recurrence(every: .nanoseconds(10), policy: policy),
            GridPosition(deadline_ns: 100)
        )
        schedule.position.unreported = 2
        return schedule
    }

    @Test("A call that is prepared and never ended leaves the schedule as it was", arguments: MissedTickPolicy.allCases)
    func withdrawn(_ policy: MissedTickPolicy) {
        var schedule = schedule(policy)
        for _ in 0..<2 {
            guard case .call(let missed, _) = schedule.begin(now_ns: 100) else {
                Issue.record("no call")
                return
            }
            #expect(missed == 2)
            #expect(schedule.position == GridPosition(deadline_ns: 100, unreported: 2))
        }
    }

    @Test("A jitter that is set during a call loses no tick and moves no nominal deadline")
    func jitterDuringCall() {
        var schedule = schedule(.merge)
        guard case .call(let missed, let following) = schedule.begin(now_ns: 115) else {
            Issue.record("no call")
            return
        }
        schedule.jitter = TickJitter(.full, random: 7)
        schedule.end(following, now_ns: 116)
        #expect(missed == 3)
        #expect(schedule.position == GridPosition(deadline_ns: 120))
        #expect((120..<130).contains(schedule.deadline_ns))
    }

    @Test("A policy that is set during a call counts from the next call")
    func policyDuringCall() {
        var schedule = schedule(.delay)
        guard case .call(_, let following) = schedule.begin(now_ns: 100) else {
            Issue.record("no call")
            return
        }
        schedule.recurrence = schedule.recurrence.with(.mergeToGrid)
        schedule.end(following, now_ns: 107)
        #expect(schedule.deadline_ns == 117)
        #expect(schedule.recurrence.policy == .mergeToGrid)
    }
}
