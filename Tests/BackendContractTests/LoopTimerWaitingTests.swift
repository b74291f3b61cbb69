// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// `LoopTimer.invalidateAndWait()`, with real loops and threads.
@Suite(.hangLimit) struct LoopTimerWaitingTests {
    /// A timer whose handler runs until `mayEnd` is signalled.
    private struct Busy {
        let timer: LoopTimer
        let begun = DispatchSemaphore(value: 0)
        let mayEnd = DispatchSemaphore(value: 0)
        let log = Recorder<String>()

        init(in loop: TimerLoop, repeats: Bool) {
            timer = LoopTimer(timeInterval: .milliseconds(1), repeats: repeats) { [begun, mayEnd, log] _ in
                begun.signal()
                mayEnd.wait()
                log.append("handler")
            }
            loop.add(timer, forMode: .default)
        }
    }

    @Test("invalidateAndWait returns to every caller when the running handler has returned", arguments: [false, true])
    func waits(repeats: Bool) throws {
        let worker = try TimerLoop.thread()
        let busy = Busy(in: worker.loop, repeats: repeats)
        busy.begun.wait()
        let callers = try (0..<3).map { _ in
            try startThread {
                busy.timer.invalidateAndWait()
                busy.log.append("returned")
            }
        }
        while busy.timer.isValid { usleep(50) }
        usleep(20_000)
        #expect(busy.log.count == 0)
        busy.mayEnd.signal()
        for caller in callers { pthread_join(caller, nil) }
        #expect(busy.log.all == ["handler", "returned", "returned", "returned"])
        // Nothing runs any more.
        busy.timer.invalidateAndWait()
        worker.shutdown()
    }

    @Test("invalidateAndWait waits for the handler of a timer that was invalidated or removed from its loop before")
    func after() throws {
        for isRemoved in [false, true] {
            let worker = try TimerLoop.thread()
            let busy = Busy(in: worker.loop, repeats: true)
            busy.begun.wait()
            if isRemoved { worker.loop.remove(busy.timer, forMode: .default) }
            busy.timer.invalidate()
            let caller = try startThread {
                busy.timer.invalidateAndWait()
                busy.log.append("returned")
            }
            usleep(20_000)
            #expect(busy.log.count == 0)
            busy.mayEnd.signal()
            pthread_join(caller, nil)
            #expect(busy.log.all == ["handler", "returned"])
            worker.shutdown()
        }
    }

    @Test("A task that awaits invalidateAndWait waits for the handler, and blocks no thread")
    func tasks() async throws {
        let worker = try TimerLoop.thread()
        let busy = Busy(in: worker.loop, repeats: true)
        await Task.detached { await withCheckedContinuation { next in next.resume(returning: busy.begun.wait()) } }
            .value
        let waiting = Task {
            await busy.timer.invalidateAndWait()
            busy.log.append("returned")
        }
        while busy.timer.isValid { await Task.yield() }
        #expect(busy.log.count == 0)
        busy.mayEnd.signal()
        await waiting.value
        #expect(busy.log.all == ["handler", "returned"])
        await worker.shutdown()
    }

    @Test("invalidateAndWait does not wait for itself, neither in the handler nor elsewhere on the loop's thread")
    func onItsThread() throws {
        let worker = try TimerLoop.thread()
        let done = DispatchSemaphore(value: 0)
        let inHandler = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { timer in
            timer.invalidateAndWait()
            timer.invalidateAndWait()
            done.signal()
        }
        worker.loop.add(inHandler, forMode: .default)
        done.wait()
        let idle = LoopTimer(timeInterval: .seconds(3600), repeats: true) { _ in }
        worker.loop.add(idle, forMode: .default)
        worker.loop.perform {
            idle.invalidateAndWait()
            done.signal()
        }
        done.wait()
        #expect(!inHandler.isValid && !idle.isValid)
        worker.shutdown()
    }

    @Test("A handler that has moved its timer to another loop does not wait for itself in invalidateAndWait")
    func moved() throws {
        let (worker, other) = (try TimerLoop.thread(), try TimerLoop.thread())
        let done = DispatchSemaphore(value: 0)
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) {
            [loop = worker.loop, next = other.loop] timer in
            loop.remove(timer, forMode: .default)
            next.add(timer, forMode: .default)
            timer.invalidateAndWait()
            done.signal()
        }
        worker.loop.add(timer, forMode: .default)
        #expect(done.wait(timeout: .now() + .seconds(60)) == .success)
        timer.invalidateAndWait()
        worker.shutdown()
        other.shutdown()
    }

    @Test("After invalidateAndWait the caller can free what the handler uses, in a thousand rounds")
    func races() throws {
        let worker = try TimerLoop.thread(precision: .precise)
        for round in 0..<1000 {
            let memory = UnsafeMutablePointer<Int>.allocate(capacity: 1)
            memory.initialize(to: round)
            let address = UInt(bitPattern: memory)
            let timer = LoopTimer(timeInterval: .microseconds(20 + round % 300), repeats: true) { _ in
                // Sendable: the caller frees it after it has waited for this handler to return.
                let value = UnsafeMutablePointer<Int>(bitPattern: address)!
                for _ in 0..<200 { value.pointee = max(value.pointee, round) }
            }
            worker.loop.add(timer, forMode: .default)
            usleep(UInt32(round % 400))
            timer.invalidateAndWait()
            memory.pointee = -1
            memory.deallocate()
        }
        worker.shutdown()
    }
}
