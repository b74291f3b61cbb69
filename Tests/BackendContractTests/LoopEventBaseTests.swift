// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import CTestSupport
import Glibc
import HRTimer
import TestSupport
import Testing

/// Builds without the package's trait Libevent.
@Suite(.enabled(if: !hasLibevent)) struct LoopWithoutLibeventTests {
    @Test("Without libevent a loop cannot be put on an event_base: the call throws ENOTSUP")
    func refused() throws {
        let base = ctest_base_create("")
        defer { ctest_base_free(base) }
        let error = #expect(throws: TimerError.self) { _ = try Self.loop(on: base) }
        #expect(error?.errorNumber == ENOTSUP)
        let other = #expect(throws: TimerError.self) { try Self.serve(TimerLoop(), on: base) }
        #expect(other?.errorNumber == ENOTSUP)
    }

    private static func loop(on base: OpaquePointer) throws(TimerError) -> TimerLoop { try TimerLoop(eventBase: base) }

    private static func serve(_ loop: TimerLoop, on base: OpaquePointer) throws(TimerError) {
        try loop.serve(onEventBase: base)
    }
}

/// A loop on an event_base of the program's own, on the real kernel.
@Suite(.serialized, .enabled(if: hasLibevent)) struct LoopEventBaseTests {
    private let log = Recorder<String>()

    /// Runs the base until the log has that many entries, for a minute at most.
    private func dispatch(_ base: OpaquePointer, until count: Int) {
        let limit = MonotonicInstant.now.advanced(by: .seconds(60))
        while log.count < count, .now < limit { ctest_base_run(base, CTEST_ONCE) }
        #expect(log.count >= count)
    }

    @Test(
        "Timers, blocks, triggers and sources are called on the host's thread while it runs its base, on every backend",
        arguments: ["", "epoll", "epoll,poll"]
    )
    func everything(avoided: String) throws {
        let base = ctest_base_create(avoided)
        let loop = try TimerLoop(eventBase: base)
        let thread = pthread_self()
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        let source = try LoopSource(descriptor: ends[0]) { [log] source, _ in
            log.append("source")
            source.invalidate()
        }
        let trigger = LoopTrigger { [log] trigger in log.append("trigger") }
        let deadline = MonotonicInstant.now.advanced(by: .milliseconds(5))
        let timer = LoopTimer(fireAt: deadline, interval: .milliseconds(1), repeats: true) { [log] timer in
            log.append(timer.fireInstant <= .now && pthread_equal(thread, pthread_self()) != 0 ? "timer" : "wrong")
            if log.count >= 6 { timer.invalidate() }
        }
        try loop.add(source, forMode: .default)
        loop.add(trigger, forMode: .default)
        loop.perform { [log] in log.append("block") }
        dispatch(base, until: 1)
        trigger.signal()
        dispatch(base, until: 2)
        write(ends[1], "x", 1)
        dispatch(base, until: 3)
        loop.add(timer, forMode: .default)
        dispatch(base, until: 6)
        #expect(log.all == ["block", "trigger", "source", "timer", "timer", "timer"])
        // With nothing pending the host's base does not spin.
        ctest_base_run(base, CTEST_WITHOUT_WAITING)
        ctest_base_stop_after(base, 20_000)
        let start = MonotonicInstant.now
        ctest_base_run(base, CTEST_ONCE)
        #expect(start.duration(to: .now) >= .milliseconds(15))
        loop.leaveEventBase()
        ctest_base_free(base)
        ends.forEach { close($0) }
    }

    @Test("Another thread's blocks and earlier deadline wake a base without locks, and none of 3000 blocks is lost")
    func otherThreads() throws {
        let base = ctest_base_create("")
        let loop = try TimerLoop(eventBase: base)
        let far = LoopTimer(timeInterval: .seconds(3600), repeats: false) { [log] _ in log.append("timer") }
        loop.add(far, forMode: .default)
        let other = try startThread { [log] in
            for _ in 0..<3000 { loop.perform { log.append("block") } }
            far.fireInstant = .now
        }
        dispatch(base, until: 3001)
        pthread_join(other, nil)
        #expect(!far.isValid)
        loop.leaveEventBase()
        ctest_base_free(base)
    }

    @Test("leaveEventBase() removes the loop's events, leaves the host's alone, and frees the loop's handlers")
    func leave() throws {
        let base = ctest_base_create("")
        let canaries = Canaries()
        let loop = try TimerLoop(eventBase: base)
        #expect(ctest_base_event_count(base) == 1)
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        do {
            let canary = canaries.make()
            let source = try LoopSource(descriptor: ends[0]) { _, _ in withExtendedLifetime(canary) {} }
            try loop.add(source, forMode: .default)
            let timer = LoopTimer(timeInterval: .zero, repeats: true) { [log] _ in
                withExtendedLifetime(canary) {}
                log.append("timer")
                if log.count == 2 { loop.leaveEventBase() }
            }
            loop.add(timer, forMode: .default)
        }
        dispatch(base, until: 2)
        loop.leaveEventBase()
        loop.perform { [log] in log.append("never") }
        loop.wakeUp()
        #expect(ctest_base_event_count(base) == 0)
        // No event is left: the base returns 1, and does not wait.
        #expect(ctest_base_run(base, CTEST_UNTIL_NO_EVENT) == 1)
        #expect(canaries.count == 0)
        #expect(loop.liveTimers == 0)

        let calls = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
        calls.initialize(to: 0)
        let host = ctest_base_count_after(base, 1000, calls)
        #expect(ctest_base_run(base, CTEST_UNTIL_NO_EVENT) == 1)
        #expect(calls.pointee == 1)
        #expect(log.count == 2)
        ctest_event_free(host)
        calls.deallocate()
        ctest_base_free(base)
        ends.forEach { close($0) }
    }

    @Test("A loop's last reference removes the loop's events from its base, and two loops can share a base")
    func lastReference() throws {
        let base = ctest_base_create("")
        let second = try TimerLoop(eventBase: base)
        do {
            let first = try TimerLoop(eventBase: base)
            for (loop, name) in [(first, "first"), (second, "second")] {
                loop.perform { [log] in log.append(name) }
            }
            dispatch(base, until: 2)
        }
        #expect(ctest_base_event_count(base) == 1)
        second.perform { [log] in log.append("second") }
        dispatch(base, until: 3)
        #expect(Set(log.all) == ["first", "second"])
        second.leaveEventBase()
        ctest_base_free(base)
    }

    @Test("A loop on a base does not run itself, has no descriptor for a host, and uses one descriptor")
    func limits() async {
        await #expect(processExitsWith: .success) {
            let base = ctest_base_create("")
            let loops = try Self.make(200, base)
            #expect(throws: TimerError(operation: "find the descriptor of an event loop", errorNumber: ENOTSUP)) {
                try loops[0].hostDescriptor()
            }
            Self.tryToRun(loops[0])
            loops.forEach { $0.leaveEventBase() }
            ctest_base_free(base)
        }
    }

    private static func make(_ count: Int, _ base: OpaquePointer) throws -> [TimerLoop] {
        let before = Kernel.openDescriptors
        let loops = try (0..<count).map { _ in try TimerLoop(eventBase: base) }
        // The test library opens some descriptors now and then.
        #expect(abs(Kernel.openDescriptors - before - count) < 50)
        return loops
    }

    /// Tries to run the loop in an exit test. An asynchronous function may not call `run()`.
    private static func tryToRun(_ loop: TimerLoop) {
        loop.isKeptAlive = true
        loop.run()
        #expect(!loop.run(mode: .default, before: .distantFuture))
    }
}
