// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests of the delivery on a real DispatchQueue, still on frozen time.
@Suite struct TimerSourceQueueTests {
    let time = ManualTime()
    let engine: TimerEngine
    let queue = DispatchQueue(label: "timer-source-tests")
    let calls = Recorder<UInt>()

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
    }

    private func makeSource() -> TimerSource {
        let source = TimerSource(engine: engine, queue: queue)
        let queue = self.queue
        source.setEventHandler { [calls, weak source] in
            dispatchPrecondition(condition: .onQueue(queue))
            calls.append(source?.data ?? 0)
        }
        source.schedule(deadline: time.now.advanced(by: .seconds(1)), repeating: .seconds(1))
        source.activate()
        return source
    }

    private func advance(_ duration: Duration) {
        time.advance(by: duration)
        queue.sync {}
    }

    @Test("The handler of a source runs on its queue")
    func runsOnQueue() {
        let source = makeSource()
        for _ in 0..<3 { advance(.seconds(1)) }
        #expect(calls.all == [1, 1, 1])
        source.cancel()
    }

    @Test("A blocked queue costs no wake-ups, and its ticks arrive as one call")
    func blockedQueue() {
        let source = makeSource()
        queue.suspend()
        time.advance(by: .seconds(1))
        #expect(time.nextDeadline == nil)
        time.advance(by: .milliseconds(4500))
        queue.resume()
        queue.sync {}
        #expect(calls.all == [5])
        advance(.milliseconds(500))
        #expect(calls.all == [5, 1])
        source.cancel()
    }

    @Test("A source rescheduled while its call waits in the queue is called for the new deadline only")
    func rescheduledInFlight() {
        let source = makeSource()
        queue.suspend()
        time.advance(by: .seconds(1))
        source.schedule(deadline: time.now.advanced(by: .seconds(10)))
        queue.resume()
        queue.sync {}
        #expect(calls.count == 0)
        advance(.seconds(10))
        #expect(calls.all == [1])
    }

    @Test("A source cancelled while its call waits in the queue calls only its cancel handler, on the queue")
    func cancelledInFlight() {
        let source = makeSource()
        let cancelled = Recorder<Bool>()
        let queue = self.queue
        source.setCancelHandler {
            dispatchPrecondition(condition: .onQueue(queue))
            cancelled.append(true)
        }
        queue.suspend()
        time.advance(by: .seconds(1))
        source.cancel()
        queue.resume()
        queue.sync {}
        queue.sync {}
        #expect(calls.count == 0)
        #expect(cancelled.count == 1)
        #expect(engine.liveTimers == 0)
    }

    @Test("A source released while its call waits in the queue is not called")
    func droppedInFlight() {
        queue.suspend()
        do {
            let source = makeSource()
            time.advance(by: .seconds(1))
            withExtendedLifetime(source) {}
        }
        queue.resume()
        queue.sync {}
        #expect(calls.count == 0)
        #expect(engine.liveTimers == 0)
    }
}
