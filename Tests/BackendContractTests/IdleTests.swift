// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import Glibc
import HRTimer
import HRTimerCore
import Synchronization
import TestSupport
import TestTraits
import Testing

/// With nothing pending there are no wake-ups, by the kernel's count.
@Suite struct IdleTests {
    @Test("A process with an idle engine and an idle loop makes no wake-up in 5 s", .hangLimit)
    func idle() async {
        // In a process of its own, so that nobody else touches the threads.
        await #expect(processExitsWith: .success) {
            let engine = try TimerEngine()
            let precise = try TimerEngine(.init(precision: .precise))
            let tids = Recorder<Int32>()
            for engine in [engine, precise] { engine.schedule(at: .distantPast) { _ in tids.append(hrt_thread_id()) } }
            let loopThread = try startThread {
                let loop = TimerLoop.current
                loop.isKeptAlive = true
                loop.perform { tids.append(hrt_thread_id()) }
                loop.run()
            }
            _ = loopThread
            while tids.count < 3 { pause(.milliseconds(1)) }
            pause(.milliseconds(100))
            let before = tids.all.map { Kernel.voluntarySwitches(ofThread: $0) }
            pause(.seconds(5))
            let after = tids.all.map { Kernel.voluntarySwitches(ofThread: $0) }
            #expect(!before.contains(nil))
            #expect(before == after)
        }
    }

    @Test(
        "A 1 ms source without an event handler makes no wake-up, on a suspended queue or without a queue",
        .hangLimit
    )
    func sourceWithoutHandler() async {
        await #expect(processExitsWith: .success) {
            let engine = try TimerEngine()
            let tid = Recorder<Int32>()
            engine.schedule(at: .distantPast) { _ in tid.append(hrt_thread_id()) }
            let queue = DispatchQueue(label: "suspended")
            queue.suspend()
            let sources = [TimerSource(engine: engine, queue: queue), TimerSource(engine: engine)]
            for source in sources {
                source.schedule(deadline: .now, repeating: .milliseconds(1))
                source.activate()
            }
            while tid.count < 1 { pause(.milliseconds(1)) }
            pause(.milliseconds(50))
            let before = Kernel.voluntarySwitches(ofThread: tid.all[0])
            pause(.milliseconds(500))
            #expect(before != nil && Kernel.voluntarySwitches(ofThread: tid.all[0]) == before)
            sources.forEach { $0.cancel() }
            queue.resume()
        }
    }

    @Test("A handler set while the engine sleeps, since its source had none, is called at the next tick")
    func handlerSetLater() throws {
        let engine = try TimerEngine()
        let source = TimerSource(engine: engine)
        source.schedule(deadline: .now, repeating: .milliseconds(1))
        source.activate()
        pause(.milliseconds(30))
        let isCalled = Latch()
        source.setEventHandler { isCalled.open() }
        isCalled.wait()
        source.cancel()
        engine.shutdown()
    }

    @Test("Who waits for a running handler uses no processor time")
    func waitsIdly() throws {
        let engine = try TimerEngine()
        let isRunning = Latch()
        let token = engine.schedule(at: .distantPast) { _ in
            isRunning.open()
            pause(.milliseconds(300))
        }
        isRunning.wait()
        var before = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before)
        engine.cancelAndWait(token)
        var after = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after)
        let used_ns = (after.tv_sec - before.tv_sec) * 1_000_000_000 + after.tv_nsec - before.tv_nsec
        #expect(used_ns < 50_000_000)
        engine.shutdown()
    }
}

/// Blocks the test's own thread, in real time.
func pause(_ duration: Duration) {
    blockThread(until: MonotonicInstant.now.advanced(by: duration).nanoseconds)
}
