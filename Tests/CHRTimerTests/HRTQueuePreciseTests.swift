import CHRTimer
import Testing

@Suite("Precise deadlines, and timers put back")
struct HRTQueuePreciseTests {
    private let ms: Int64 = 1_000_000

    @Test("Precise timers come in the one order with all others, and their next deadline is told apart")
    func oneOrder() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        #expect(timers.nextPrecise == .max)
        let ordinary = timers.schedule(at: 2 * ms)
        let precise = timers.addPrecise(at: 2 * ms)
        let tolerant = timers.schedule(at: 2 * ms, tolerance: ms)
        let earlier = timers.addPrecise(at: ms)
        timers.settle()
        #expect(timers.next == ms)
        #expect(timers.nextWake == ms)
        #expect(timers.nextPrecise == ms)
        #expect(timers.takeDue(at: 2 * ms - 1).map(\.token) == [earlier])
        timers.settle()
        #expect(timers.nextPrecise == 2 * ms)
        #expect(timers.takeDue(at: 2 * ms).map(\.token) == [ordinary, precise, tolerant])
        #expect(timers.nextPrecise == .max)
    }

    @Test("Armed otherwise, a precise timer is precise no longer")
    func armedOtherwise() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let token = timers.addPrecise(at: ms)
        timers.arm(token, at: 2 * ms)
        timers.settle()
        #expect(timers.nextPrecise == .max)
        #expect(timers.next == 2 * ms)
        hrt_queue_arm_slot_precise(timers.queue, token.slot, 3 * ms)
        timers.settle()
        #expect(timers.nextPrecise == 3 * ms)
        hrt_queue_arm_slot_tolerant(timers.queue, token.slot, 4 * ms, ms)
        timers.settle()
        #expect(timers.nextPrecise == .max)
        #expect(timers.nextWake == 5 * ms)
        #expect(timers.takeDue(at: 4 * ms).map(\.token) == [token])
    }

    @Test(
        "However many precise timers have lived, their next deadline never lies in the past",
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
        timers.settle()
        #expect(timers.nextPrecise == 3600 * 1000 * ms)
        #expect(timers.takeDue(at: 3600 * 1000 * ms).map(\.token) == [last])
    }

    @Test("What was put back has the deadline, the arming and the place that it had")
    func putBack() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let tokens = [
            timers.schedule(at: ms), timers.addPrecise(at: ms), timers.schedule(at: ms, tolerance: ms),
            timers.schedule(at: ms),
        ]
        let due = timers.takeDue(at: ms)
        #expect(due.map(\.arming) == [1, 2, 3, 4])
        #expect(hrt_queue_last_arming(timers.queue) == 4)
        let later = timers.schedule(at: ms)
        for timer in due.reversed() { withUnsafePointer(to: timer) { hrt_queue_put_back(timers.queue, $0) } }
        #expect(hrt_queue_last_arming(timers.queue) == 5)
        #expect(timers.armedCount(tokens + [later]) == 5)
        timers.settle()
        #expect(timers.nextPrecise == ms)
        let again = timers.takeDue(at: ms)
        #expect(again.map(\.token) == tokens + [later])
        #expect(again.map(\.arming) == [1, 2, 3, 4, 5])
    }

    @Test("A timer put back keeps its tolerance")
    func putBackTolerance() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        _ = timers.schedule(at: ms, tolerance: 5 * ms)
        var due = timers.takeDue(at: ms)
        hrt_queue_put_back(timers.queue, &due[0])
        timers.settle()
        #expect(timers.next == ms)
        #expect(timers.nextWake == 6 * ms)
    }

    @Test("Put back is neither a timer armed since nor one removed since")
    func putBackTooLate() {
        let timers = TimerQueue()
        _ = timers.takeDue(at: 0)
        let armed = timers.schedule(at: ms)
        let removed = timers.schedule(at: ms)
        let due = timers.takeDue(at: ms)
        timers.arm(armed, at: 9 * ms)
        hrt_queue_remove(timers.queue, removed)
        for timer in due { withUnsafePointer(to: timer) { hrt_queue_put_back(timers.queue, $0) } }
        #expect(timers.armedCount([armed, removed]) == 1)
        #expect(hrt_queue_deadline_ns(timers.queue, armed) == 9 * ms)
    }
}
