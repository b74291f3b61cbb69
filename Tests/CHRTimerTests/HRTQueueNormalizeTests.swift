// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import CTestSupport
import TestSupport
import Testing

@Suite("A normalized queue")
struct HRTQueueNormalizeTests {
    private let second: Int64 = 1_000_000_000
    private let hour: Int64 = 3_600_000_000_000

    /// For each level of the wheel the span of a bucket, and an instant at which a bucket begins.
    static let levels: [(span: Int64, begin: Int64)] = (0..<4).map { level in
        let span = Int64(1) << (16 + 10 * level)
        return (span, 3 * span)
    }

    @Test("Cancelled timers beside a pending one cost no wake-up", arguments: [100_000, 1_000_000])
    func cancelledCostNothing(count: Int) {
        var random = SeededRandom(seed: 9)
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        _ = timers.schedule(at: hour)
        let tokens = (0..<count).map { _ in
            timers.schedule(at: Int64.random(in: 1_000_000..<60 * second, using: &random))
        }
        for token in tokens { hrt_queue_remove(timers.queue, token) }
        // One call does the work of a bucket of about 1,000 timers.
        let calls = timers.normalize()
        #expect(calls <= count / 1000 + 2)
        #expect(timers.next == hour)
        #expect(timers.nextWake == hour)
        #expect(timers.normalize() == 1)
    }

    @Test("The next deadline is exact after all timers but the last were disarmed", arguments: [39, 40, 41])
    func allButOneCancelled(count: Int) {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let tokens = (1...Int64(count)).map { timers.schedule(at: $0 * 1000) }
        for token in tokens.dropLast() { timers.disarm(token) }
        timers.normalize()
        #expect(timers.next == Int64(count) * 1000)
    }

    /// Counts on both sides of the size of a crowd (32), of the chains of a bucket (8) and of the moves of one query (64).
    @Test(
        "The earliest deadline is exact while the timers of one bucket are cancelled one by one",
        arguments: [1, 7, 8, 9, 31, 32, 33, 34, 63, 64, 65, 1023, 1024, 1025, 2049],
        HRTQueueNormalizeTests.levels.map(\.span)
    )
    func cancelledOneByOne(count: Int, span: Int64) {
        var random = SeededRandom(seed: UInt64(count))
        for tolerance in [0, 1, span / 4] {
            let timers = TimerQueue()
            _ = timers.takeDue(at: 0)
            let begin = 3 * span
            var all = (0..<count).map { _ in
                let deadline = begin + Int64.random(in: 0..<span, using: &random)
                return (deadline: deadline, token: timers.schedule(at: deadline, tolerance: tolerance))
            }
            all.sort { $0.deadline < $1.deadline }
            var calls = 0
            var wrong = 0
            for (index, timer) in all.enumerated() {
                calls += timers.normalize()
                if timers.next != timer.deadline || timers.nextWake != timer.deadline + tolerance { wrong += 1 }
                if index % 2 == 0 {
                    hrt_queue_remove(timers.queue, timer.token)
                } else {
                    timers.arm(timer.token, at: timer.deadline + 8 * span, tolerance: tolerance)
                }
            }
            #expect(wrong == 0)
            // One call each, and a few more to spread the crowd over finer buckets, once per level: it is not walked each time.
            #expect(calls <= count + 8 * count / 1024 + 16)
            ctest_queue_check(timers.queue)
        }
    }

    @Test("Repeatedly cancelling the earliest of 100,000 timers in one bucket does not walk the bucket each time")
    func largeCrowd() {
        var random = SeededRandom(seed: 77)
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let begin = Int64(5) << 36
        var all = (0..<100_000).map { _ in
            let deadline = begin + Int64.random(in: 0..<60 * second, using: &random)
            return (deadline: deadline, token: timers.schedule(at: deadline))
        }
        all.sort { $0.deadline < $1.deadline }
        var calls = 0
        var wrong = 0
        for timer in all {
            calls += timers.normalize()
            if timers.next != timer.deadline { wrong += 1 }
            hrt_queue_remove(timers.queue, timer.token)
        }
        #expect(wrong == 0)
        // Moving 100,000 timers takes 98 calls.
        #expect(calls <= 100_000 + 300)
    }

    @Test("Timers of a crowd spread over finer buckets fire in order, and none early", arguments: [33, 100, 5000])
    func crowdFires(count: Int) {
        var random = SeededRandom(seed: UInt64(count))
        for (span, begin) in Self.levels {
            let timers = TimerQueue()
            _ = timers.takeDue(at: 0)
            let owner = timers.schedule(at: begin)
            var deadlines = (0..<count).map { _ in begin + 1 + Int64.random(in: 0..<span - 1, using: &random) }
            for deadline in deadlines { _ = timers.schedule(at: deadline) }
            timers.disarm(owner)
            timers.normalize()
            ctest_queue_check(timers.queue)
            deadlines.sort()
            #expect(timers.next == deadlines[0])
            // A timer that is armed now for an instant before the crowd comes before it.
            let early = timers.schedule(at: begin / 2)
            timers.normalize()
            #expect(timers.next == begin / 2)
            #expect(timers.takeDue(at: begin / 2).map(\.token) == [early])
            let middle = deadlines[count / 2]
            let first = timers.takeDue(at: middle).map(\.deadline_ns)
            #expect(first == deadlines.filter { $0 <= middle })
            #expect(timers.takeDue(at: begin + span).map(\.deadline_ns) == deadlines.filter { $0 > middle })
        }
    }

    @Test("Without normalizing, takes at inexact deadlines find nothing due, and come to an end")
    func looksInVain() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        _ = timers.schedule(at: hour)
        let tokens = (0..<10_000).map { timers.schedule(at: 1_000_000 + Int64($0) * 5_000_000) }
        for token in tokens { timers.disarm(token) }
        var looks = 0
        while timers.next < hour {
            let next = timers.next
            #expect(timers.takeDue(at: next).isEmpty)
            #expect(timers.next > next)
            looks += 1
        }
        #expect(looks <= 1000)
    }

    @Test("A normalized queue stays exact as time passes and when later timers are armed")
    func staysExact() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        _ = timers.schedule(at: hour)
        timers.normalize()
        for minute in 1..<60 {
            #expect(timers.takeDue(at: Int64(minute) * 60 * second).isEmpty)
            #expect(timers.next == hour)
            let later = timers.schedule(at: hour + Int64(minute))
            #expect(timers.next == hour)
            hrt_queue_remove(timers.queue, later)
            #expect(timers.next == hour)
        }
    }
}
