import CHRTimer
import HRTimer
import Synchronization
import TestSupport
import Testing

/// Nothing pending, no wake-ups: counted by the kernel.
@Suite struct IdleTests {
    @Test("A process with an idle engine and an idle loop makes no wake-up in 5 s", .timeLimit(.minutes(15)))
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
}

/// For the test's own thread: it sleeps for real.
func pause(_ duration: Duration) {
    hrt_clock_sleep_until(HRT_CLOCK_MONOTONIC, MonotonicInstant.now.advanced(by: duration).nanoseconds)
}
