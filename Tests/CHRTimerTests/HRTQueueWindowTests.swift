// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import CTestSupport
import TestSupport
import Testing

@Suite("Windows of timers with tolerance")
struct HRTQueueWindowTests {
    private let ms: Int64 = 1_000_000

    /// Returns the fewest wake-ups such that each window has one: repeatedly takes the earliest end of a window that has none
    /// yet.
    private func fewestWakes(_ phases: [Int64], interval: Int64, tolerance: Int64, until end: Int64) -> Int {
        var ends: [Int64] = []
        for phase in phases {
            ends += stride(from: phase + tolerance, through: end, by: Int64.Stride(interval))
        }
        ends.sort()
        var wakes = 0
        var last = Int64.min
        for end in ends where end - tolerance > last {
            last = end
            wakes += 1
        }
        return wakes
    }

    /// Sleeps and wakes as an engine does: normalizes, waits until the next wake-up, takes all due timers, and arms each for its
    /// next deadline. Returns the number of wake-ups, and of those in vain.
    private func wakes(_ phases: [Int64], interval: Int64, tolerance: Int64, until end: Int64) -> (
        wakes: Int, vain: Int
    ) {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        for phase in phases { _ = timers.schedule(at: phase, tolerance: tolerance) }
        var wakes = 0
        var vain = 0
        while true {
            timers.normalize()
            let now = timers.nextWake
            if now > end { return (wakes, vain) }
            wakes += 1
            let due = timers.takeDue(at: now)
            if due.isEmpty { vain += 1 }
            for timer in due {
                #expect(timer.deadline_ns <= now && now <= timer.deadline_ns + tolerance)
                timers.arm(timer.token, at: timer.deadline_ns + interval, tolerance: tolerance)
            }
        }
    }

    @Test(
        "Repeating timers with tolerance need the fewest wake-ups possible",
        arguments: [(1000, 10), (1000, 100), (40, 10), (3, 10), (200, 1000)] as [(Int, Int64)]
    )
    func fewest(count: Int, interval_ms: Int64) {
        var random = SeededRandom(seed: 4)
        let interval = interval_ms * ms
        let phases = (0..<count).map { _ in Int64.random(in: 1...interval, using: &random) }
        let end = 20 * interval
        let (wakes, vain) = wakes(phases, interval: interval, tolerance: interval / 10, until: end)
        #expect(vain == 0)
        #expect(wakes == fewestWakes(phases, interval: interval, tolerance: interval / 10, until: end))
    }

    @Test("A window that was served, or whose timer was disarmed, moved or removed, causes no wake-up")
    func servedWindows() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let served = timers.schedule(at: ms, tolerance: 9 * ms)
        _ = timers.schedule(at: 2 * ms)
        #expect(timers.takeDue(at: 2 * ms).count == 2)
        let disarmed = timers.schedule(at: 3 * ms, tolerance: ms)
        let moved = timers.schedule(at: 3 * ms, tolerance: 2 * ms)
        let removed = timers.schedule(at: 3 * ms, tolerance: 3 * ms)
        let kept = timers.schedule(at: 3 * ms, tolerance: 30 * ms)
        timers.normalize()
        #expect(timers.nextWake == 4 * ms)
        timers.disarm(disarmed)
        timers.normalize()
        #expect(timers.nextWake == 5 * ms)
        timers.arm(moved, at: 50 * ms, tolerance: 5 * ms)
        timers.normalize()
        #expect(timers.nextWake == 6 * ms)
        hrt_queue_remove(timers.queue, removed)
        timers.normalize()
        #expect(timers.nextWake == 33 * ms)
        #expect(timers.takeDue(at: 33 * ms).map(\.token) == [kept])
        timers.normalize()
        #expect(timers.nextWake == 55 * ms)
        #expect(!hrt_queue_is_armed(timers.queue, served))
    }

    @Test("A short window inside a longer one decides the wake-up", arguments: [1, 31, 32, 33, 100])
    func shortBeyondLong(count: Int) {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        for number in 0..<count { _ = timers.schedule(at: ms + Int64(number), tolerance: 1000 * ms) }
        let short = timers.schedule(at: 900 * ms, tolerance: 1)
        timers.normalize()
        #expect(timers.next == ms)
        #expect(timers.nextWake == 900 * ms + 1)
        timers.disarm(short)
        timers.normalize()
        #expect(timers.nextWake == 1001 * ms)
        #expect(timers.takeDue(at: 1001 * ms).count == count)
    }

    /// Counts on both sides of the bound above which stale ends are dropped together: twice the near nodes, plus 16.
    @Test(
        "Ends of windows whose timers were disarmed never decide the wake-up",
        arguments: [14, 15, 16, 17, 18, 33, 34, 35, 1023, 1024, 1025, 3000]
    )
    func uselessEnds(count: Int) {
        for kept in [0, 1, 8] {
            let timers = TimerQueue()
            _ = timers.takeDue(at: 0)
            let tokens = (0..<count).map { timers.schedule(at: ms + Int64($0), tolerance: 10 * ms + Int64($0)) }
            for number in 0..<kept { _ = timers.schedule(at: ms, tolerance: 20 * ms + Int64(number)) }
            timers.normalize()
            #expect(timers.nextWake == 11 * ms)
            for token in tokens { timers.disarm(token) }
            timers.normalize()
            #expect(timers.nextWake == (kept == 0 ? .max : 21 * ms))
            for token in tokens { timers.arm(token, at: 2 * ms, tolerance: 10 * ms) }
            timers.normalize()
            #expect(timers.nextWake == 12 * ms)
            ctest_queue_check(timers.queue)
            #expect(timers.takeDue(at: 12 * ms).count == count + kept)
        }
    }

    @Test("A tolerance that reaches beyond the end of time needs no wake-up")
    func endless() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let token = timers.schedule(at: ms, tolerance: .max)
        _ = timers.schedule(at: .max - 5, tolerance: 100)
        timers.normalize()
        #expect(timers.next == ms)
        #expect(timers.nextWake == .max)
        #expect(timers.takeDue(at: ms).map(\.token) == [token])
        timers.normalize()
        #expect(timers.next == .max - 5)
    }
}
