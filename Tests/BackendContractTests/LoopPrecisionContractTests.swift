// SPDX-License-Identifier: Apache-2.0
import CHRLoop
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// Precise waiting in a loop, on the real kernel.
@Suite(.serialized, .hangLimit) struct LoopPrecisionContractTests {
    /// A loop of the C core whose spin window has learned that wakes come 5 ms late, so that it spins for as long.
    private final class Spinner: @unchecked Sendable {
        // Sendable: one thread waits, and hrt_loop_wake is for any.
        private let loop: OpaquePointer
        private let window = UnsafeMutablePointer<hrt_spin_window>.allocate(capacity: 1)
        private let budget = UnsafeMutablePointer<hrt_spin_budget>.allocate(capacity: 1)

        init() {
            var loop: OpaquePointer?
            #expect(hrt_loop_create(&loop) == 0)
            self.loop = loop!
            hrt_spin_budget_init(budget, 1, MonotonicInstant.now.nanoseconds)
            hrt_spin_window_init(window, 0.99, budget)
            for sleep_ns: Int64 in [100_000, 1_000_000, 100_000_000] {
                for _ in 0..<200 { hrt_spin_window_record_wake(window, sleep_ns, 5_000_000) }
            }
        }

        deinit {
            hrt_loop_destroy(loop)
            window.deallocate()
            budget.deallocate()
        }

        func wait(until deadline: MonotonicInstant) -> Int32 {
            let found = hrt_loop_wait_until_spin_window(loop, deadline.nanoseconds, window)
            if found != 0 { return found }
            let before = MonotonicInstant.now
            var now_ns: Int64 = 0
            var spun_ns: Int64 = 0
            let foundLater = hrt_loop_spin(loop, deadline.nanoseconds, window, &now_ns, &spun_ns)
            #expect(now_ns >= before.nanoseconds && now_ns <= MonotonicInstant.now.nanoseconds)
            #expect(spun_ns >= 0 && spun_ns <= now_ns - before.nanoseconds)
            if foundLater == 0 { #expect(now_ns >= deadline.nanoseconds) }
            return foundLater
        }

        func poll() -> Int32 { hrt_loop_poll(loop) }

        func wake() { hrt_loop_wake(loop) }

        /// Calls `body` while `descriptor` is watched.
        func watching(_ descriptor: Int32, _ body: () -> Void) {
            var watch: OpaquePointer?
            #expect(hrt_loop_watch(loop, descriptor, UInt32(HRT_READABLE), 7, &watch) == 0)
            body()
            hrt_loop_unwatch(loop, watch!)
        }
    }

    private func sleep(until instant: MonotonicInstant) {
        blockThread(until: instant.nanoseconds)
    }

    @Test("A precise wait is never early, from a microsecond to ten milliseconds, and a past deadline returns at once")
    func neverEarly() {
        let spinner = Spinner()
        for delay_us in [-1, 0, 1, 10, 100, 1000, 10_000] {
            for _ in 0..<(delay_us < 1000 ? 100 : 5) {
                let deadline = MonotonicInstant.now.advanced(by: .microseconds(delay_us))
                #expect(spinner.wait(until: deadline) == 0)
                #expect(MonotonicInstant.now >= deadline)
            }
        }
    }

    @Test("A wake ends the sleep or the spin, and is consumed by it")
    func wakes() throws {
        let spinner = Spinner()
        for delay_ms in [1, 1000] {
            let deadline = MonotonicInstant.now.advanced(by: .milliseconds(delay_ms))
            spinner.wake()
            #expect(spinner.wait(until: deadline) == Int32(HRT_LOOP_WOKEN))
            #expect(spinner.wait(until: deadline.advanced(by: .milliseconds(1))) == 0)
        }
        // Wakes that come at many moments of a wait.
        for delay_us in stride(from: 0, to: 6000, by: 200) {
            let start = MonotonicInstant.now
            let waker = try startThread { [self] in
                sleep(until: start.advanced(by: .microseconds(delay_us)))
                spinner.wake()
            }
            while spinner.wait(until: start.advanced(by: .seconds(60))) != Int32(HRT_LOOP_WOKEN) {}
            pthread_join(waker, nil)
        }
    }

    @Test("A descriptor ready before the spin window ends the wait; one ready within it is found after the deadline")
    func descriptors() throws {
        let spinner = Spinner()
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        spinner.watching(ends[0]) {
            write(ends[1], "x", 1)
            // The wait for 1 ms begins within the spin window of 5 ms, the wait for 1000 ms before it.
            for delay_ms in [1, 1000] {
                let deadline = MonotonicInstant.now.advanced(by: .milliseconds(delay_ms))
                #expect(spinner.wait(until: deadline) == Int32(HRT_LOOP_READY))
            }
            var byte: UInt8 = 0
            read(ends[0], &byte, 1)
            let deadline = MonotonicInstant.now.advanced(by: .milliseconds(4))
            let writer = try? startThread { [self, ends] in
                sleep(until: deadline.advanced(by: .milliseconds(-2)))
                write(ends[1], "x", 1)
            }
            let found = spinner.wait(until: deadline)
            // On a busy machine the spin window may begin after the byte is there.
            if found == 0 { #expect(MonotonicInstant.now >= deadline) }
            if let writer { pthread_join(writer, nil) }
            #expect(spinner.poll() == Int32(HRT_LOOP_READY))
        }
        ends.forEach { close($0) }
    }

    @Test("A waiting precise loop takes blocks, earlier timers and its shutdown from other threads, and none is early")
    func served() throws {
        let worker = try TimerLoop.thread(name: "precise", precision: .precise)
        worker.loop.spinBudget = 1
        let log = Recorder<String>()
        let early = Recorder<Duration>()
        func timer(_ name: String, _ deadline: MonotonicInstant) -> LoopTimer {
            LoopTimer(fireAt: deadline, interval: .zero, repeats: false) { timer in
                log.append(name)
                let now = MonotonicInstant.now
                if timer.fireInstant > now { early.append(now.duration(to: timer.fireInstant)) }
            }
        }
        let far = timer("far", .now.advanced(by: .seconds(3600)))
        worker.loop.add(far, forMode: .default)
        for index in 0..<200 {
            worker.loop.perform { log.append("block") }
            let soon = MonotonicInstant.now.advanced(by: .microseconds(index * 5))
            worker.loop.add(timer("late", soon.advanced(by: .microseconds(50))), forMode: .default)
            worker.loop.add(timer("soon", soon), forMode: .default)
            while log.count < 3 * (index + 1) { usleep(50) }
        }
        #expect(Set(log.all) == ["block", "late", "soon"])
        #expect(early.all == [])
        worker.shutdown()
        #expect(!far.isValid)
    }

    @Test("A precise repeating timer does not keep a ready descriptor waiting, nor the descriptor the timer")
    func fairness() throws {
        let loop = TimerLoop(precision: .precise)
        loop.spinBudget = 1
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        let calls = Recorder<Bool>()
        let source = try LoopSource(descriptor: ends[0]) { source, _ in calls.append(true) }
        try loop.add(source, forMode: .default)
        write(ends[1], "x", 1)
        let ticks = Recorder<Bool>()
        let timer = LoopTimer(timeInterval: .microseconds(20), repeats: true) { timer in
            ticks.append(true)
            if ticks.count >= 200, calls.count >= 200 { loop.stop() }
        }
        loop.add(timer, forMode: .default)
        loop.run(until: .now.advanced(by: .seconds(60)))
        #expect(ticks.count >= 200)
        #expect(calls.count >= 200)
        source.invalidate()
        ends.forEach { close($0) }
    }

    @Test("A precise loop tells its afterWaiting observers that it woke before it calls the timer")
    func observed() {
        let loop = TimerLoop(precision: .precise)
        loop.spinBudget = 1
        let log = Recorder<String>()
        loop.add(LoopObserver(activities: .afterWaiting) { _, _ in log.append("woke") }, forMode: .default)
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { timer in
            log.append("tick")
            if log.all.filter({ $0 == "tick" }).count == 20 { timer.invalidate() }
        }
        loop.add(timer, forMode: .default)
        loop.run()
        let ticks = log.all.indices.filter { log.all[$0] == "tick" }
        #expect(ticks.count == 20)
        #expect(ticks.allSatisfy { $0 > 0 && log.all[$0 - 1] == "woke" })
    }

    @Test("A precise loop does not count as waiting in its handlers")
    func isWaiting() {
        let loop = TimerLoop(precision: .precise)
        loop.spinBudget = 1
        let seen = Recorder<Bool>()
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { timer in
            seen.append(loop.isWaiting)
            if seen.count == 20 { timer.invalidate() }
        }
        loop.add(timer, forMode: .default)
        loop.run()
        #expect(seen.all == [Bool](repeating: false, count: 20))
    }

    @Test("Without a free descriptor a precise loop waits on a futex, just as exactly")
    func exhausted() async {
        await #expect(processExitsWith: .success) {
            let restore = Kernel.limitDescriptors(room: 0)
            let loop = TimerLoop(precision: .precise)
            restore()
            let early = Recorder<Bool>()
            let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { timer in
                early.append(timer.fireInstant > .now)
                if early.count == 20 { timer.invalidate() }
            }
            loop.add(timer, forMode: .default)
            Self.run(loop)
            #expect(early.all == [Bool](repeating: false, count: 20))
        }
    }

    /// Runs the loop in an exit test, which has no other thread here. An asynchronous function may not call `run()`.
    private static func run(_ loop: TimerLoop) {
        loop.run()
    }
}
