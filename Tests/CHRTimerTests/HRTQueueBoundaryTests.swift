// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import CTestSupport
import TestSupport
import Testing

/// Sizes and instants on both sides of every constant at which the queue changes its method.
@Suite("Timer queue at its constants")
struct HRTQueueBoundaryTests {
    private let ms: Int64 = 1_000_000
    private static let tick: Int64 = 65_536

    @Test("Timers moved to an earlier deadline fire in time, few or many", arguments: [1, 31, 32, 33, 63, 64, 65])
    func movedSooner(count: Int) {
        for tolerance in [0, 1] as [Int64] {
            let timers = TimerQueue()
            _ = timers.takeDue(at: 0)
            let tokens = (0..<count).map { _ in timers.schedule(at: 1000 * ms, tolerance: tolerance) }
            for (number, token) in tokens.enumerated() {
                timers.arm(token, at: ms + Int64(number), tolerance: tolerance)
            }
            #expect(timers.next == ms)
            #expect(timers.takeDue(at: ms - 1).isEmpty)
            #expect(timers.takeDue(at: 2 * ms).map(\.token) == tokens)
        }
    }

    @Test(
        "Free slots are used again, the one freed last first, with new tokens",
        arguments: [31, 32, 33, 63, 64, 65, 66, 129]
    )
    func spares(count: Int) {
        let timers = TimerQueue()
        let tokens = (0..<count).map { _ in timers.add() }
        for token in tokens { #expect(hrt_queue_remove(timers.queue, token)) }
        #expect(hrt_queue_count(timers.queue) == 0)
        let again = (0..<count).map { _ in timers.add() }
        #expect(Set(again.map(\.slot)) == Set(0..<UInt32(count)))
        #expect(again[0].slot == tokens[count - 1].slot)
        #expect(tokens.allSatisfy { !hrt_queue_is_live(timers.queue, $0) })
        ctest_queue_check(timers.queue)
    }

    @Test("Timers of one tick fire in order, even if armed backwards", arguments: [1, 15, 16, 17, 18, 34, 200])
    func oneTick(count: Int) {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 5 * Self.tick)
        // Armed backwards, so that each is inserted before all others; all are in the near tier at once.
        let tokens = (0..<count).map { timers.schedule(at: 5 * Self.tick + 1000 - Int64($0)) }
        ctest_queue_check(timers.queue)
        // When a node in the middle of the heap is removed, the last node takes its place, and may have to rise.
        for index in stride(from: 1, to: count, by: 3) { timers.disarm(tokens[index]) }
        ctest_queue_check(timers.queue)
        let left = tokens.enumerated().filter { $0.offset % 3 != 1 }.map(\.element)
        #expect(timers.takeDue(at: 6 * Self.tick).map(\.token) == left.reversed())
    }

    @Test("The heap keeps its order whichever node is removed", arguments: [20, 40, 90])
    func heapRemoval(count: Int) {
        var random = SeededRandom(seed: UInt64(count))
        for _ in 0..<50 {
            let timers = TimerQueue()
            _ = timers.takeDue(at: 5 * Self.tick)
            var all = (0..<count).map { _ in
                let deadline = 5 * Self.tick + Int64.random(in: 0..<60_000, using: &random)
                return (deadline: deadline, token: timers.schedule(at: deadline))
            }
            for _ in 0..<count / 2 {
                let timer = all.remove(at: Int.random(in: all.indices, using: &random))
                timers.disarm(timer.token)
                ctest_queue_check(timers.queue)
            }
            #expect(timers.takeDue(at: 7 * Self.tick).map(\.deadline_ns) == all.map(\.deadline).sorted())
        }
    }

    @Test("One call moves at most 1,024 timers", arguments: [1023, 1024, 1025, 2048, 2049])
    func movesPerCall(count: Int) {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let tokens = (0..<count).map { _ in timers.schedule(at: 100 * ms) }
        var batch = [hrt_due](repeating: hrt_due(), count: count)
        // A bucket yields no timer until it has been emptied, since its order is not known before.
        var calls = 1
        while hrt_queue_take_due(timers.queue, 100 * ms, &batch, 0) == 0, timers.next < 100 * ms { calls += 1 }
        #expect(calls <= 2 * ((count + 1023) / 1024) + 1)
        #expect(timers.takeDue(at: 100 * ms).map(\.token) == tokens)
    }

    @Test(
        "At the border between two levels of the wheel, timers fire in order and none early",
        arguments: 0..<4
    )
    func levels(level: Int) {
        let reach = Self.tick << (10 * Int64(level + 1))
        for now in [0, 1, Self.tick - 1, Self.tick, 1000 * Self.tick + 7] as [Int64] {
            let timers = TimerQueue()
            _ = timers.takeDue(at: now)
            let offsets = [-Self.tick - 1, -Self.tick, -1, 0, 1, Self.tick - 1, Self.tick, Self.tick + 1]
            let tokens = offsets.map { timers.schedule(at: now + reach + $0) }
            for (offset, token) in zip(offsets, tokens) {
                timers.normalize()
                #expect(timers.next == now + reach + offset)
                #expect(timers.takeDue(at: now + reach + offset - 1).isEmpty)
                #expect(timers.takeDue(at: now + reach + offset).map(\.token) == [token])
            }
        }
    }

    @Test("The earliest timer is found where a coarse bucket begins in the same tick as a fine one")
    func sameBegin() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let coarse = timers.schedule(at: 1024 * Self.tick + 5)
        _ = timers.takeDue(at: 10 * Self.tick)
        let fine = timers.schedule(at: 1024 * Self.tick + 50)
        // Removes the earliest timer, so that the queue has to search for the next one.
        hrt_queue_remove(timers.queue, timers.schedule(at: 500 * Self.tick))
        #expect(timers.next <= 1024 * Self.tick + 5)
        timers.normalize()
        #expect(timers.next == 1024 * Self.tick + 5)
        #expect(timers.takeDue(at: 1025 * Self.tick).map(\.token) == [coarse, fine])
    }

    @Test("Timers of a crowd that is only partly spread over finer buckets may be moved and disarmed")
    func halfSpread() {
        for span in [Int64(1) << 16, 1 << 26, 1 << 36] {
            let timers = TimerQueue()
            _ = timers.takeDue(at: 0)
            let begin = 3 * span
            // A few timers would be sorted at once, whatever follows them.
            for _ in 0..<4 { _ = timers.schedule(at: begin + 3600 * 1000 * ms) }
            let owner = timers.schedule(at: begin)
            let tokens = (0..<3000).map { timers.schedule(at: begin + 1 + Int64($0 * 7919 % 3000) * (span / 3001)) }
            timers.disarm(owner)
            #expect(hrt_queue_normalize(timers.queue))
            for (number, token) in tokens.enumerated() where number % 2 == 0 {
                timers.arm(token, at: 1000 + Int64(number))
            }
            for (number, token) in tokens.enumerated() where number % 4 == 1 { timers.disarm(token) }
            ctest_queue_check(timers.queue)
            timers.normalize()
            ctest_queue_check(timers.queue)
            #expect(timers.next == 1000)
            #expect(timers.takeDue(at: 60_000).count == 1500)
            #expect(timers.takeDue(at: begin + span).count == 750)
        }
    }

    @Test("Time that passes over no deadline leaves no work behind, and timers armed then fire in time")
    func overNothing() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let last = timers.schedule(at: 100_000 * ms)
        for now in 1...2000 as ClosedRange<Int64> {
            #expect(timers.takeDue(at: now * ms).isEmpty)
            guard now % 100 == 0 else { continue }
            let soon = timers.schedule(at: now * ms + 70_000)
            #expect(timers.takeDue(at: now * ms + 69_999).isEmpty)
            #expect(timers.takeDue(at: now * ms + 70_000).map(\.token) == [soon])
        }
        #expect(timers.next == 100_000 * ms)
        #expect(timers.takeDue(at: 100_000 * ms).map(\.token) == [last])
    }
}
