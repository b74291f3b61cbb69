// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import CTestSupport
import Testing

@Suite("Timer queue")
struct HRTQueueTests {
    let second: Int64 = 1_000_000_000

    @Test("An empty queue has no next deadline")
    func emptyQueue() {
        let timers = TimerQueue()
        #expect(timers.next == .max)
        #expect(timers.nextWake == .max)
        #expect(timers.takeDue(at: .max).isEmpty)
    }

    @Test("A timer fires at its nanosecond, and not one before")
    func exactToTheNanosecond() {
        for distance: Int64 in [1, 65_535, 65_536, 70_000_000, 70 * second, 1 << 50, 1 << 61] {
            let timers = TimerQueue()
            _ = timers.takeDue(at: 12_345)
            let token = timers.schedule(at: 12_345 + distance)
            #expect(timers.next == 12_345 + distance)
            #expect(timers.takeDue(at: 12_345 + distance - 1).isEmpty)
            #expect(timers.takeDue(at: 12_345 + distance).map(\.token) == [token])
        }
    }

    @Test("Timers with equal deadlines fire in order of arming, also those that were moved there")
    func equalDeadlines() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let first = timers.schedule(at: 2 * second)
        let second = timers.schedule(at: self.second)
        let third = timers.schedule(at: 2 * self.second)
        timers.arm(second, at: 2 * self.second)
        timers.arm(first, at: 2 * self.second)
        #expect(timers.takeDue(at: 2 * self.second).map(\.token) == [third, second, first])
    }

    @Test("A removed timer's token stays stale when its slot is used again")
    func staleToken() {
        let timers = TimerQueue()
        let old = timers.schedule(at: second)
        #expect(hrt_queue_remove(timers.queue, old))
        let new = timers.schedule(at: 2 * second)
        #expect(new.slot == old.slot)
        #expect(!hrt_queue_is_live(timers.queue, old))
        #expect(!hrt_queue_is_armed(timers.queue, old))
        #expect(!hrt_queue_remove(timers.queue, old))
        #expect(ctest_queue_deadline_ns(timers.queue, old) == .max)
        #expect(timers.takeDue(at: second).isEmpty)
        #expect(timers.takeDue(at: 2 * second).map(\.token) == [new])
        #expect(!hrt_queue_is_live(timers.queue, hrt_token()))
    }

    @Test("A token of another queue never matches a free slot")
    func foreignToken() {
        for lives in 0..<4 {
            let timers = TimerQueue()
            let slot = timers.schedule(at: second).slot
            for _ in 0..<lives { #expect(hrt_queue_remove(timers.queue, timers.schedule(at: second))) }
            #expect(hrt_queue_remove(timers.queue, hrt_token(slot: slot, generation: 1)))
            let other = TimerQueue()
            for _ in 0..<6 {
                let foreign = other.schedule(at: second)
                #expect(!hrt_queue_is_live(timers.queue, foreign))
                #expect(!hrt_queue_remove(timers.queue, foreign))
                #expect(hrt_queue_remove(other.queue, foreign))
            }
            #expect(hrt_queue_count(timers.queue) == 0)
            ctest_queue_check(timers.queue)
        }
    }

    @Test("A timer that was moved later costs at most one take that finds nothing due")
    func oneLookInVain() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let token = timers.schedule(at: second)
        timers.arm(token, at: 5 * second)
        var looks = 0
        while timers.next < 5 * second {
            #expect(timers.takeDue(at: timers.next).isEmpty)
            looks += 1
        }
        #expect(looks <= 1)
        #expect(timers.next == 5 * second)
    }

    @Test("After a jump of time by a century all timers fire in order")
    func jump() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let deadlines = (0..<5000).map { Int64(($0 * 7919) % 5000) * second * 600_000 }
        for deadline in deadlines { _ = timers.schedule(at: deadline) }
        #expect(timers.takeDue(at: 100 * 366 * 86400 * second).map(\.deadline_ns) == deadlines.sorted())
    }

    @Test("When time goes back the order stays exact, and no timer fires early")
    func timeGoesBack() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 3600 * second)
        let late = timers.schedule(at: 20 * second)
        let early = timers.schedule(at: 10 * second)
        #expect(timers.takeDue(at: 5 * second).isEmpty)
        #expect(timers.next == 10 * second)
        #expect(timers.takeDue(at: 10 * second).map(\.token) == [early])
        #expect(timers.takeDue(at: 20 * second).map(\.token) == [late])
    }

    @Test("The next wake-up is the earliest end among all windows")
    func windows() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        _ = timers.schedule(at: second, tolerance: 9 * second)
        _ = timers.schedule(at: 2 * second, tolerance: second)
        #expect(timers.next == second)
        #expect(timers.nextWake == 3 * second)
        let exact = timers.schedule(at: 2 * second + 5)
        #expect(timers.nextWake == 2 * second + 5)
        timers.arm(exact, at: 4 * second)
        #expect(timers.nextWake <= 3 * second)
        #expect(timers.takeDue(at: 3 * second).map(\.deadline_ns) == [second, 2 * second])
        #expect(timers.takeDue(at: 4 * second).map(\.token) == [exact])
        #expect(timers.nextWake == .max)
    }

    @Test("Deadlines at both ends of time are safe")
    func extremes() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let never = timers.schedule(at: .max)
        let past = timers.schedule(at: .min)
        #expect(timers.takeDue(at: 0).map(\.token) == [past])
        #expect(timers.takeDue(at: .max).isEmpty)
        #expect(hrt_queue_is_armed(timers.queue, never))
    }

    @Test("Disarming returns true once for each armed timer, and removes none")
    func disarmsAll() {
        let timers = TimerQueue()
        let tokens = (0..<100).map { timers.schedule(at: Int64($0), tolerance: Int64($0 % 3)) }
        #expect(timers.armedCount(tokens) == 100)
        #expect(tokens.allSatisfy { timers.disarm($0) })
        #expect(tokens.allSatisfy { !timers.disarm($0) })
        #expect(timers.armedCount(tokens) == 0)
        #expect(hrt_queue_count(timers.queue) == 100)
        #expect(tokens.allSatisfy { hrt_queue_is_live(timers.queue, $0) })
        #expect(timers.takeDue(at: .max - 1).isEmpty)
    }

    @Test("After a peak memory is given back, and old tokens stay stale")
    func givesMemoryBack() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let tokens = (0..<300_000).map { timers.schedule(at: second + Int64($0) * 1000) }
        let peak = hrt_queue_memory_bytes(timers.queue)
        for token in tokens { hrt_queue_remove(timers.queue, token) }
        while hrt_queue_trim(timers.queue) {}
        #expect(hrt_queue_memory_bytes(timers.queue) < peak / 2)
        let again = (0..<300_000).map { _ in timers.schedule(at: second) }
        #expect(Set(again.map(\.slot)).count == again.count)
        #expect(tokens.allSatisfy { !hrt_queue_is_live(timers.queue, $0) })
        #expect(timers.takeDue(at: second).map(\.token) == again)
    }

    @Test("Growing keeps timers, tokens and order, and reuses slots whose memory was given back")
    func grows() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        var tokens: [hrt_token] = []
        for number in 0..<300_000 {
            tokens.append(timers.schedule(at: second + Int64(number % 1000)))
        }
        // The chunks of the gap become empty; the others stay full.
        let gap = 65_535..<196_607
        for token in tokens[gap] { hrt_queue_remove(timers.queue, token) }
        while hrt_queue_trim(timers.queue) {}
        ctest_queue_check(timers.queue)
        #expect(tokens[gap].allSatisfy { !hrt_queue_is_live(timers.queue, $0) })
        let kept = tokens.enumerated().filter { !gap.contains($0.offset) }
        #expect(kept.allSatisfy { hrt_queue_is_live(timers.queue, $0.element) })

        var all = kept.map { (deadline: second + Int64($0.offset % 1000), token: $0.element) }
        for _ in 0..<200_000 { all.append((second, timers.schedule(at: second))) }
        ctest_queue_check(timers.queue)
        let due = timers.takeDue(at: second + 1000)
        #expect(due.map(\.deadline_ns) == all.map(\.deadline).sorted())
        // Timers with equal deadlines fire in order of sequence: first the kept ones, then the new ones.
        let first = all.filter { $0.deadline == second }.map(\.token)
        #expect(Array(due.prefix(first.count)).map(\.token) == first)
    }

    @Test("Many timers at one instant are taken in several calls, each of which does bounded work")
    func crowd() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let tokens = (0..<20_000).map { _ in timers.schedule(at: second) }
        var batch = [hrt_due](repeating: hrt_due(), count: tokens.count)
        #expect(hrt_queue_take_due(timers.queue, second, &batch, tokens.count) < tokens.count)
        #expect(timers.next <= second)
        #expect(timers.armedCount(tokens) > 0)
        #expect(timers.takeDue(at: second).last?.token == tokens.last)
    }
}
