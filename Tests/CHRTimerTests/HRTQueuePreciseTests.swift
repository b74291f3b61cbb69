// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Testing

@Suite("Precise deadlines of a timer queue")
struct HRTQueuePreciseTests {
    private let ms: Int64 = 1_000_000

    @Test("Precise timers fire in one order with all others, and have a next deadline of their own")
    func oneOrder() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        #expect(timers.nextPrecise == .max)
        let ordinary = timers.schedule(at: 2 * ms)
        let precise = timers.addPrecise(at: 2 * ms)
        let tolerant = timers.schedule(at: 2 * ms, tolerance: ms)
        let earlier = timers.addPrecise(at: ms)
        timers.normalize()
        #expect(timers.next == ms)
        #expect(timers.nextWake == ms)
        #expect(timers.nextPrecise == ms)
        #expect(timers.takeDue(at: 2 * ms - 1).map(\.token) == [earlier])
        timers.normalize()
        #expect(timers.nextPrecise == 2 * ms)
        #expect(timers.takeDue(at: 2 * ms).map(\.token) == [ordinary, precise, tolerant])
        #expect(timers.nextPrecise == .max)
    }

    @Test("A precise timer that is armed as another kind is no longer precise")
    func armedOtherwise() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let token = timers.addPrecise(at: ms)
        timers.arm(token, at: 2 * ms)
        timers.normalize()
        #expect(timers.nextPrecise == .max)
        #expect(timers.next == 2 * ms)
        timers.armPrecisely(token, at: 3 * ms)
        timers.normalize()
        #expect(timers.nextPrecise == 3 * ms)
        timers.arm(token, at: 4 * ms, tolerance: ms)
        timers.normalize()
        #expect(timers.nextPrecise == .max)
        #expect(timers.nextWake == 5 * ms)
        #expect(timers.takeDue(at: 4 * ms).map(\.token) == [token])
    }

    @Test(
        "The next precise deadline is never in the past, however many precise timers have come and gone",
        arguments: [31, 32, 33, 40]
    )
    func neverInThePast(count: Int) {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let last = timers.addPrecise(at: 3600 * 1000 * ms)
        for number in 1...Int64(count) {
            let token = timers.addPrecise(at: number * ms)
            #expect(timers.takeDue(at: number * ms).map(\.token) == [token])
            hrt_queue_remove(timers.queue, token)
            #expect(timers.nextPrecise > number * ms)
            #expect(timers.next > number * ms)
        }
        timers.normalize()
        #expect(timers.nextPrecise == 3600 * 1000 * ms)
        #expect(timers.takeDue(at: 3600 * 1000 * ms).map(\.token) == [last])
    }
}
