// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimerCore

/// How a lateness is split among its causes, from invented timelines and counts.
@Suite struct LateFireTests {
    private let ms: Int64 = 1_000_000

    private func causes(_ explanation: LatenessExplanation) -> [LatenessCause: Int64] {
        var causes: [LatenessCause: Int64] = [:]
        for cause in LatenessCause.allCases where explanation.parts[cause] > 0 {
            causes[cause] = explanation.parts[cause]
        }
        return causes
    }

    private func timeline(_ build: (inout ThreadTimeline) -> Void) -> ThreadTimeline {
        var timeline = ThreadTimeline()
        build(&timeline)
        return timeline
    }

    @Test("A late wake-up is the cause if the thread did not wait for a processor")
    func wakeup() {
        let timeline = timeline { $0.add(.parked, 0, 1080, planned_ns: 1000) }
        let explained = LateFire(deadline_ns: 1000, called_ns: 1090).explained(by: timeline)
        #expect(causes(explained) == [.wakeup: 90])
        #expect(explained.woken_ns == 1080)
    }

    @Test("Waiting for a processor counts as run queue until the thread wakes, and as preemption after that")
    func runQueue() {
        let timeline = timeline { $0.add(.parked, 0, 10 * ms, planned_ns: 1 * ms) }
        var fire = LateFire(deadline_ns: 1 * ms, called_ns: 14 * ms)
        fire.evidence.runDelay_ns = 12 * ms
        #expect(
            causes(fire.explained(by: timeline)) == [
                .runQueue: 9 * ms, .preempted: 3 * ms, .wakeup: 20_000, .unexplained: 980_000,
            ]
        )
    }

    @Test("A handler that runs at the deadline is the cause for the next call, and is named with its end")
    func handlerBefore() {
        let slow = TimerToken(hrt_token(slot: 7, generation: 1))
        let timeline = timeline {
            $0.add(.parked, 0, 100, planned_ns: 100)
            $0.add(.called, 100, 2 * ms, timer: slow)
        }
        let explained = LateFire(deadline_ns: 100, called_ns: 2 * ms).explained(by: timeline)
        #expect(causes(explained) == [.handlerBefore: 2 * ms - 100])
        #expect(explained.before?.timer == slow)
        #expect(explained.before?.end_ns == 2 * ms)
    }

    @Test("Page faults account for a handler's whole run if they take half of it, else only for themselves")
    func pageFaults() {
        let timeline = timeline { $0.add(.called, 0, 1 * ms) }
        var fire = LateFire(deadline_ns: 0, called_ns: 1 * ms)
        fire.evidence.faults_ns = 600_000
        #expect(causes(fire.explained(by: timeline)) == [.pageFault: 1 * ms])
        fire.evidence.faults_ns = 100_000
        #expect(causes(fire.explained(by: timeline)) == [.pageFault: 100_000, .handlerBefore: 900_000])
    }

    @Test("Oversleeping by long, with more switches than parks, counts as a stop; oversleeping briefly as a wake-up")
    func stopped() {
        for (late_ns, cause) in [(20 * ms, LatenessCause.stopped), (500_000, .wakeup)] {
            let timeline = timeline { $0.add(.parked, 0, 1 * ms + late_ns, planned_ns: 1 * ms) }
            var fire = LateFire(deadline_ns: 1 * ms, called_ns: 1 * ms + late_ns)
            fire.evidence.mayHaveStopped = true
            #expect(causes(fire.explained(by: timeline)) == [cause: late_ns])
        }
    }

    @Test("Time the host stole shows as a gap while the thread ran, or as steal time while it slept too long")
    func stolen() {
        let running = timeline { $0.add(.parked, 0, 100, planned_ns: 1 * ms) }
        var fire = LateFire(deadline_ns: 1 * ms, called_ns: 6 * ms)
        fire.evidence.gap_ns = 5 * ms
        #expect(causes(fire.explained(by: running)) == [.stolen: 5 * ms])
        let asleep = timeline { $0.add(.parked, 0, 31 * ms, planned_ns: 1 * ms) }
        fire = LateFire(deadline_ns: 1 * ms, called_ns: 31 * ms)
        fire.evidence.stolen_ns = 20 * ms
        #expect(causes(fire.explained(by: asleep)) == [.stolen: 20 * ms, .wakeup: 10 * ms])
    }

    @Test("Time in which a quota throttled the thread counts as run queue, awake as in a sleep that took too long")
    func throttled() {
        let running = timeline { $0.add(.parked, 0, 100, planned_ns: 1 * ms) }
        var fire = LateFire(deadline_ns: 1 * ms, called_ns: 6 * ms)
        fire.evidence.gap_ns = 5 * ms
        fire.evidence.throttled_ns = 3 * ms
        #expect(causes(fire.explained(by: running)) == [.runQueue: 3 * ms, .stolen: 2 * ms])
        let asleep = timeline { $0.add(.parked, 0, 31 * ms, planned_ns: 1 * ms) }
        fire = LateFire(deadline_ns: 1 * ms, called_ns: 31 * ms)
        fire.evidence.throttled_ns = 20 * ms
        #expect(causes(fire.explained(by: asleep)) == [.runQueue: 20 * ms, .wakeup: 10 * ms])
    }

    @Test("Late arming, a step of the clock and a suspended system are attributed first")
    func clocks() {
        let timeline = timeline { $0.add(.parked, 0, 10 * ms, planned_ns: 10 * ms) }
        var fire = LateFire(deadline_ns: 1 * ms, lateFrom_ns: 3 * ms, called_ns: 10 * ms)
        fire.step_ns = 4 * ms
        fire.suspended_ns = 100 * ms
        #expect(causes(fire.explained(by: timeline)) == [.armedLate: 2 * ms, .clockStep: 4 * ms, .suspended: 3 * ms])
    }

    @Test("Sleep within the tolerance counts as tolerance; planned sleep beyond it is a loop busy with other modes")
    func onPurpose() {
        let timeline = timeline { $0.add(.parked, 0, 5 * ms, planned_ns: 4 * ms) }
        var fire = LateFire(deadline_ns: 1 * ms, called_ns: 5 * ms)
        fire.tolerance_ns = 2 * ms
        #expect(causes(fire.explained(by: timeline)) == [.tolerance: 2 * ms, .unexplained: 1 * ms, .wakeup: 1 * ms])
        fire.isLoop = true
        #expect(causes(fire.explained(by: timeline)) == [.tolerance: 2 * ms, .loopBusy: 1 * ms, .wakeup: 1 * ms])
    }

    @Test("A loop's time awake counts as busy, but for the way from the wake-up to the call")
    func loopBusy() {
        let timeline = timeline { $0.add(.parked, 0, 1 * ms) }
        var fire = LateFire(deadline_ns: 1 * ms, called_ns: 3 * ms)
        fire.isLoop = true
        #expect(causes(fire.explained(by: timeline)) == [.loopBusy: 2 * ms - 20_000, .wakeup: 20_000])
    }

    @Test("A burst of calls that is longer than the timeline remembers counts as handlers")
    func burst() {
        let timeline = timeline { timeline in
            for number in 0..<1000 as Range<Int64> {
                timeline.add(.called, number * 1000, number * 1000 + 1000)
            }
        }
        #expect(
            causes(LateFire(deadline_ns: 0, called_ns: 1_000_000).explained(by: timeline)) == [
                .handlerBefore: 1_000_000
            ]
        )
    }

    @Test("Calls that the timeline still holds, each and every one, hide no burst before them")
    func fullTimeline() {
        let kept = Int64(ThreadTimeline.capacity)
        let timeline = timeline { timeline in
            for number in 1...kept { timeline.add(.called, number * 1000, number * 1000 + 1000) }
        }
        let doings = timeline.doings(from: 0, to: kept * 1000 + 1000)
        #expect(doings.calls_ns == kept * 1000)
        #expect(doings.awake_ns == 1000)
    }

    @Test("Instants at the ends of time overflow nothing")
    func saturates() {
        let extremes: [Int64] = [.min, -1, 0, 1, .max]
        for begin_ns in extremes {
            for end_ns in extremes where end_ns >= begin_ns {
                let timeline = timeline {
                    $0.add(.called, begin_ns, end_ns)
                    $0.add(.parked, begin_ns, end_ns, planned_ns: end_ns)
                }
                for deadline_ns in extremes {
                    for called_ns in extremes {
                        var fire = LateFire(deadline_ns: deadline_ns, lateFrom_ns: begin_ns, called_ns: called_ns)
                        fire.isLoop = true
                        let parts = fire.explained(by: timeline).parts
                        #expect(parts.lateness_ns == max(0, called_ns.subtractingSaturating(deadline_ns)))
                    }
                }
            }
        }
    }

    @Test("Random parts add up exactly to the lateness; time asleep, awake and in calls agrees with a model")
    func addsUp() throws {
        let operations = environment("HRTIMER_FIRES").flatMap { Int($0) } ?? 20_000
        var random = SeededRandom.fromEnvironment()
        for _ in 0..<operations {
            var timeline = ThreadTimeline()
            var doings: [UInt8] = []
            var planned: [Bool] = []
            for _ in 0..<Int.random(in: 0...8, using: &random) {
                let gap = Int.random(in: 0...4, using: &random)
                let length = Int.random(in: 0...9, using: &random)
                let begin = doings.count + gap
                let plan = begin + Int.random(in: 0...12, using: &random)
                let isCall = Bool.random(using: &random)
                let kind: ThreadTimeline.Kind = isCall ? .called : .parked
                timeline.add(kind, Int64(begin), Int64(begin + length), planned_ns: Int64(plan))
                doings += [UInt8](repeating: 0, count: gap) + [UInt8](repeating: isCall ? 1 : 2, count: length)
                planned += [Bool](repeating: false, count: gap) + (begin..<begin + length).map { $0 < plan }
            }
            let called = doings.count + Int.random(in: 0...5, using: &random)
            doings += [UInt8](repeating: 0, count: called - doings.count)
            planned += [Bool](repeating: false, count: called - planned.count)
            let deadline = Int.random(in: -3...called, using: &random)
            let seen = timeline.doings(from: Int64(deadline), to: Int64(called))
            let span = (max(0, deadline)..<called)
            #expect(seen.calls_ns == Int64(span.count { doings[$0] == 1 }))
            #expect(seen.mayWait_ns == Int64(span.count { doings[$0] == 2 && planned[$0] }))
            #expect(seen.asleep_ns == Int64(span.count { doings[$0] == 2 && !planned[$0] }))
            let awake = span.count { doings[$0] == 0 } + max(0, -deadline)
            #expect(seen.awake_ns == Int64(awake))
            let lateFrom = deadline + Int.random(in: -3...9, using: &random)
            var fire = LateFire(
                deadline_ns: Int64(deadline),
                lateFrom_ns: Int64(lateFrom),
                called_ns: Int64(called)
            )
            fire.isLoop = Bool.random(using: &random)
            fire.tolerance_ns = Int64.random(in: 0...5, using: &random)
            fire.step_ns = Int64.random(in: -3...5, using: &random)
            fire.suspended_ns = Int64.random(in: 0...3, using: &random)
            fire.evidence.runDelay_ns = Int64.random(in: 0...20, using: &random)
            fire.evidence.faults_ns = Int64.random(in: 0...20, using: &random)
            fire.evidence.gap_ns = Int64.random(in: 0...20, using: &random)
            fire.evidence.mayHaveStopped = Bool.random(using: &random)
            let parts = fire.explained(by: timeline).parts
            #expect(parts.parts_ns.allSatisfy { $0 >= 0 })
            #expect(parts.rest_ns == 0)
            #expect(parts.lateness_ns == Int64(called - deadline))
        }
    }
}
