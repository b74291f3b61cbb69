// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc
import HRTimer
import Synchronization
import TestSupport
import TestTraits
import Testing

/// The loop on the real kernel. Each test runs its loop on a thread of its own.
@Suite(.serialized, .hangLimit) struct LoopContractTests {
    /// Runs `body` on a new thread, and returns when the thread has ended and its loop is gone.
    private func onThread(_ body: @escaping @Sendable () -> Void) throws {
        pthread_join(try startThread(body), nil)
    }

    @Test("2000 timers fire once each, and none is early")
    func neverEarly() throws {
        let lateness = Recorder<Duration>()
        let deadlines = Recorder<MonotonicInstant>()
        try onThread {
            var random = SeededRandom.fromEnvironment()
            let loop = TimerLoop.current
            for _ in 0..<2000 {
                let delay = Duration.nanoseconds(Int64.random(in: 0..<50_000_000, using: &random))
                let timer = LoopTimer(timeInterval: delay, repeats: false) { timer in
                    lateness.append(timer.fireInstant.duration(to: .now))
                    deadlines.append(timer.fireInstant)
                }
                loop.add(timer, forMode: .default)
            }
            loop.run()
            #expect(loop.liveTimers == 0)
        }
        #expect(lateness.count == 2000)
        #expect(lateness.all.allSatisfy { $0 >= .zero })
    }

    @Test("The best of 100 fires is less than a millisecond late")
    func best() throws {
        let lateness = Recorder<Duration>()
        try onThread {
            let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { timer in
                lateness.append(timer.fireInstant.duration(to: .now))
                if lateness.count == 100 { timer.invalidate() }
            }
            TimerLoop.current.add(timer, forMode: .default)
            TimerLoop.current.run()
        }
        #expect(lateness.all.min()! < atBest(.milliseconds(1)))
    }

    @Test("The thousandth deadline of a repeating timer is the first plus 999 intervals")
    func noDrift() throws {
        try onThread {
            let ticks = Recorder<Int>()
            let soon = MonotonicInstant.now.advanced(by: .milliseconds(1))
            let timer = LoopTimer(fireAt: soon, interval: .microseconds(200), repeats: true) { timer in
                let tick = (ticks.all.last ?? -1) + 1 + timer.missedTicks
                ticks.append(tick)
                #expect(timer.fireInstant <= .now)
                if tick >= 999 { timer.invalidate() }
            }
            TimerLoop.current.add(timer, forMode: .default)
            // Not `soon`: if a busy machine let that pass, the grid begins with the timer.
            let start = timer.fireInstant
            TimerLoop.current.run()
            // `fireInstant` of an invalid timer is the deadline of its last fire. The ticks that it missed came after that
            // deadline, or while the handler ran before.
            let offset_us = Int(start.duration(to: timer.fireInstant) / .microseconds(1))
            let last = ticks.all.last!
            #expect(offset_us % 200 == 0)
            #expect((last - timer.missedTicks...last).contains(offset_us / 200))
        }
    }

    @Test(
        "A loop uses four close-on-exec descriptors, two without libevent, for any number of modes, and closes them all",
        // Thread Sanitizer allows no thread in a child of fork(2).
        .disabled(if: isSanitized)
    )
    func descriptors() async {
        await #expect(processExitsWith: .success) {
            // In a child of fork(2): the test library's threads open and close descriptors meanwhile.
            let words = inChild { say in
                let before = Kernel.openDescriptors
                for _ in 0..<100 {
                    guard let thread = try? startThread({ Self.useManyModes(say) }) else { return say("no thread") }
                    pthread_join(thread, nil)
                }
                if Kernel.openDescriptors != before { say("some are left open") }
                say("through")
            }
            #expect(words == ["through"])
        }
    }

    private static func useManyModes(_ say: Say) {
        let known = descriptors()
        for mode in 0..<100 {
            let timer = LoopTimer(timeInterval: .zero, repeats: false) { _ in }
            TimerLoop.current.add(timer, forMode: .init("mode \(mode)"))
            TimerLoop.current.run(mode: .init("mode \(mode)"), before: .distantFuture)
        }
        let new = descriptors().subtracting(known)
        if new.count != (hasLibevent ? 4 : 2) { say("\(new.count) descriptors") }
        if !new.allSatisfy({ fcntl($0, F_GETFD) & FD_CLOEXEC != 0 }) { say("not close-on-exec") }
    }

    private static func descriptors() -> Set<Int32> {
        Set((0..<256).filter { fcntl($0, F_GETFD) != -1 })
    }

    @Test("A thread's loop is its own, stays the same, and is freed with the thread, along with its timers' captures")
    func current() throws {
        let canaries = Canaries()
        let timers = Recorder<LoopTimer>()
        try onThread {
            let canary = canaries.make()
            #expect(TimerLoop.current === TimerLoop.current)
            #expect(TimerLoop.current !== TimerLoop.main)
            timers.append(
                LoopTimer.scheduled(timeInterval: .seconds(3600), repeats: true) { _ in
                    withExtendedLifetime(canary) {}
                }
            )
        }
        #expect(canaries.count == 0)
        #expect(timers.all.map(\.isValid) == [false])
    }

    @Test("Without a free descriptor timers still work, and adding a source throws the reason")
    func exhausted() async {
        await #expect(processExitsWith: .success) {
            for room in 0..<(hasLibevent ? 4 : 2) {
                let loop = Self.loopWithoutDescriptors(room: room)
                let ticks = Recorder<Bool>()
                let deadline = MonotonicInstant.now.advanced(by: .milliseconds(5))
                let timer = LoopTimer(fireAt: deadline, interval: .zero, repeats: false) { _ in
                    ticks.append(.now >= deadline)
                }
                loop.add(timer, forMode: .default)
                var ends: [Int32] = [0, 0]
                pipe(&ends)
                let source = try LoopSource(descriptor: ends[0]) { _, _ in }
                #expect(throws: TimerError(operation: "make an event loop", errorNumber: EMFILE)) {
                    try loop.add(source, forMode: .default)
                }
                Self.run(loop)
                #expect(ticks.all == [true])
            }
        }
    }

    /// Returns a loop that could not open its descriptors. Tries again if a thread of the test library closed one meanwhile.
    private static func loopWithoutDescriptors(room: Int) -> TimerLoop {
        while true {
            let restore = Kernel.limitDescriptors(room: room)
            let loop = TimerLoop()
            restore()
            if (try? loop.hostDescriptor()) == nil { return loop }
        }
    }

    /// Runs the loop in an exit test, which has no other thread here. An asynchronous function may not call `run()`.
    private static func run(_ loop: TimerLoop) {
        loop.run()
    }

    @Test("A block, an earlier deadline, a trigger's signal and stop() from another thread each wake a sleeping loop")
    func wakes() throws {
        let log = Recorder<String>()
        let worker = try TimerLoop.thread(name: "contract")
        let loop = worker.loop
        func untilWaiting() {
            while !loop.isWaiting { usleep(100) }
        }
        func until(_ count: Int) {
            while log.count < count { usleep(100) }
        }
        let far = LoopTimer(timeInterval: .seconds(3600), repeats: false) { _ in log.append("timer") }
        loop.add(far, forMode: .default)
        untilWaiting()
        loop.perform { log.append("block") }
        until(1)
        untilWaiting()
        far.fireInstant = .now
        until(2)
        let trigger = LoopTrigger { _ in log.append("trigger") }
        loop.add(trigger, forMode: .default)
        untilWaiting()
        trigger.signal()
        until(3)
        untilWaiting()
        loop.perform { loop.stop() }
        untilWaiting()
        loop.stop()
        loop.perform { log.append("still there") }
        until(4)
        worker.shutdown()
        worker.shutdown()
        #expect(log.all == ["block", "timer", "trigger", "still there"])
        #expect(!trigger.isValid)
    }

    @Test(
        "stop() from another thread wakes a sleeping loop, and ends its run",
        arguments: [TimerPrecision.normal, .precise]
    )
    func stopWakes(_ precision: TimerPrecision) throws {
        let loop = TimerLoop(precision: precision)
        loop.isKeptAlive = true
        let far = LoopTimer(timeInterval: .seconds(3600), repeats: false) { _ in }
        loop.add(far, forMode: .default)
        let runner = try startThread { loop.run() }
        while !loop.isWaiting { usleep(50) }
        loop.stop()
        // Without the wake the loop would sleep for an hour.
        pthread_join(runner, nil)
        #expect(far.isValid)
    }

    @Test("A timer that is due already wakes a sleeping loop when another thread adds it")
    func dueTimerAdded() throws {
        let worker = try TimerLoop.thread()
        let done = Recorder<Bool>()
        for count in 1...50 {
            while !worker.loop.isWaiting { usleep(50) }
            let timer = LoopTimer(fireAt: .distantPast, interval: .zero, repeats: false) { _ in done.append(true) }
            worker.loop.add(timer, forMode: .default)
            while done.count < count { usleep(50) }
        }
        worker.shutdown()
    }

    @Test("A timer overdue in another mode wakes the loop when another thread adds it to the mode the loop sleeps in")
    func modeAdded() throws {
        let worker = try TimerLoop.thread()
        let done = Recorder<Bool>()
        let starved = LoopTimer(fireAt: .distantPast, interval: .zero, repeats: false) { _ in done.append(true) }
        worker.loop.add(starved, forMode: .modalPanel)
        usleep(5000)
        while !worker.loop.isWaiting { usleep(50) }
        worker.loop.add(starved, forMode: .default)
        // Without the wake the loop would sleep for ever.
        while done.count == 0 { usleep(50) }
        worker.shutdown()
    }

    @Test("A timer that another thread invalidates is not called after the loop's next pass, in 10,000 rounds")
    func invalidatedElsewhere() throws {
        final class Flag: Sendable { let isSet = Atomic(false) }
        let worker = try TimerLoop.thread()
        let late = Recorder<Int>()
        let calls = Recorder<Int>()
        for round in 0..<10_000 {
            let hasPassed = Flag()
            let timer = LoopTimer(timeInterval: .zero, repeats: true) { _ in
                if hasPassed.isSet.load(ordering: .acquiring) { late.append(round) } else { calls.append(round) }
            }
            timer.fireInstant = .now
            worker.loop.add(timer, forMode: .default)
            // The loop, woken a moment later, may be too late for any of these timers. Every hundredth one waits for its call.
            if round % 100 == 0 { while calls.all.last != round { sched_yield() } }
            timer.invalidate()
            worker.loop.perform { hasPassed.isSet.store(true, ordering: .releasing) }
        }
        // One more block, after all the others.
        let isDone = Flag()
        worker.loop.perform { isDone.isSet.store(true, ordering: .releasing) }
        while !isDone.isSet.load(ordering: .acquiring) { usleep(100) }
        worker.shutdown()
        #expect(late.all == [])
        #expect(calls.all.filter { $0 % 100 == 0 }.count >= 100)
    }

    @Test("An idle loop does not wake: its waiting thread makes no voluntary context switch")
    func idle() throws {
        let worker = try TimerLoop.thread()
        let tid = Recorder<Int32>()
        worker.loop.perform { tid.append(hrt_thread_id()) }
        while tid.count == 0 || !worker.loop.isWaiting { usleep(100) }
        usleep(20_000)
        let before = Kernel.voluntarySwitches(ofThread: tid.all[0])
        usleep(200_000)
        #expect(Kernel.voluntarySwitches(ofThread: tid.all[0]) == before)
        worker.shutdown()
    }

    @Test("A loop's thread ends with its last reference, and 200 of them leave no thread or descriptor behind")
    func threads() async {
        await #expect(processExitsWith: .success) {
            let before = (descriptors: Kernel.openDescriptors, threads: Kernel.threads)
            for _ in 0..<200 { _ = try TimerLoop.thread() }
            // The test library has threads and descriptors that come and go; a leak would leave hundreds.
            #expect(Kernel.openDescriptors - before.descriptors < 50)
            #expect(Kernel.threads - before.threads < 50)
        }
    }

    @Test("A handler may shut down the thread of its own loop")
    func endsItself() throws {
        let log = Recorder<String>()
        let worker = try TimerLoop.thread()
        let canaries = Canaries()
        let canary = canaries.make()
        let timer = LoopTimer(timeInterval: .zero, repeats: true) { [canary] _ in
            worker.shutdown()
            log.append("ended")
            withExtendedLifetime(canary) {}
        }
        worker.loop.add(timer, forMode: .default)
        while timer.isValid { usleep(100) }
        #expect(log.all == ["ended"])
    }

    @Test("In a run of the main loop that another loop's handler has begun, the main loop is the current one")
    func mainLoopInside() async {
        await #expect(processExitsWith: .success) {
            await MainActor.run {
                let other = TimerLoop()
                let isCurrent = Recorder<Bool>()
                other.perform {
                    isCurrent.append(TimerLoop.current === other)
                    TimerLoop.main.perform { isCurrent.append(TimerLoop.current === TimerLoop.main) }
                    TimerLoop.main.run(for: 0)
                    isCurrent.append(TimerLoop.current === other)
                }
                other.run(for: 0)
                #expect(isCurrent.all == [true, true, true])
            }
        }
    }

    @Test("Three threads may add, move and invalidate timers at once, and none is left")
    func threadsAtOnce() throws {
        let worker = try TimerLoop.thread()
        let loop = worker.loop
        let threads = try (0..<3).map { index in
            try startThread {
                var random = SeededRandom(seed: UInt64(index))
                for _ in 0..<3000 {
                    let timer = LoopTimer(
                        timeInterval: .microseconds(Int.random(in: 0..<300, using: &random)),
                        repeats: true
                    ) {
                        $0.fireInstant = .now
                    }
                    loop.add(timer, forMode: .default)
                    timer.fireInstant = .now.advanced(by: .microseconds(Int.random(in: -100..<100, using: &random)))
                    timer.invalidate()
                }
            }
        }
        for thread in threads { pthread_join(thread, nil) }
        #expect(loop.liveTimers == 0)
        worker.shutdown()
    }
}
