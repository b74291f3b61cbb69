// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import CTestSupport
import Foundation
import Glibc
import HRTimer
import Synchronization
import TestSupport
import TestTraits
import Testing

/// Loops inside Foundation's run loops, on the real kernel.
@Suite(.serialized, .hangLimit) struct RunLoopHostTests {
    private let log = Recorder<String>()

    /// Runs `body` on a thread of its own, whose run loop `body` may run, and expects no error.
    private static func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
        let failure = Recorder<String>()
        let thread = try startThread {
            do { try body() } catch { failure.append("\(error)") }
        }
        await Task.detached { _ = pthread_join(thread, nil) }.value
        #expect(failure.all == [])
    }

    private static func run(until isDone: () -> Bool) {
        let limit = MonotonicInstant.now + .seconds(60)
        while !isDone(), .now < limit { _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 1)) }
    }

    @Test("A thread's RunLoop runs the thread's own loop and others: timers, blocks and what other threads add")
    func serves() async throws {
        try await Self.onThread { [log] in
            let own = pthread_self()
            for loop in [TimerLoop.current, TimerLoop()] {
                log.removeAll()
                let host = try loop.serveOnCurrentRunLoop()
                let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { timer in
                    log.append(pthread_self() == own && timer.fireInstant <= .now ? "tick" : "wrong")
                }
                loop.add(timer, forMode: .default)
                let other = try startThread {
                    loop.perform { log.append(pthread_self() == own ? "block" : "wrong") }
                    let late = LoopTimer(timeInterval: .milliseconds(5), repeats: false) { _ in log.append("late") }
                    loop.add(late, forMode: .common)
                }
                Self.run { log.count >= 12 && Set(log.all).isSuperset(of: ["block", "late"]) }
                pthread_join(other, nil)
                #expect(Set(log.all) == ["tick", "block", "late"])
                host.cancel()
                host.cancel()
                let count = log.count
                RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.02))
                #expect(log.count == count)
                // The thread runs its own loop again.
                if loop == TimerLoop.current { loop.run(until: .now + .milliseconds(5)) }
                timer.invalidate()
            }
        }
    }

    @Test("A hosted loop with nothing due wakes neither the run loop nor Dispatch")
    func idle() async throws {
        try await Self.onThread {
            let loop = TimerLoop.current
            let host = try loop.serveOnCurrentRunLoop()
            loop.add(LoopTimer(timeInterval: .seconds(3600), repeats: false) { _ in }, forMode: .default)
            RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.05))
            var fewest = Int.max
            // The end of the run itself is a Dispatch timer. A busy allocator or a sanitizer makes the thread wait, too.
            for _ in 0..<20 where fewest > 4 {
                let before = try #require(Kernel.voluntarySwitches(ofThread: hrt_thread_id()))
                RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.3))
                let after = try #require(Kernel.voluntarySwitches(ofThread: hrt_thread_id()))
                fewest = min(fewest, Int(after - before))
            }
            #expect(fewest <= 4)
            host.cancel()
        }
    }

    @Test("A host that another thread or its own handler cancels while it ticks ends, and releases its loop")
    func cancelled() async throws {
        for isInHandler in [true, false] {
            let canaries = Canaries()
            try await Self.onThread { [log] in
                log.removeAll()
                weak var loop: TimerLoop?
                do {
                    let made = TimerLoop()
                    loop = made
                    let host = try made.serveOnCurrentRunLoop()
                    let canary = canaries.make()
                    let timer = LoopTimer(timeInterval: .microseconds(200), repeats: true) { _ in
                        withExtendedLifetime(canary) { log.append("tick") }
                        if isInHandler, log.count == 20 { host.cancel() }
                    }
                    made.add(timer, forMode: .default)
                    if !isInHandler {
                        let other = try startThread {
                            while log.count < 20 { usleep(100) }
                            host.cancel()
                        }
                        Self.run { log.count >= 20 }
                        pthread_join(other, nil)
                    }
                }
                Self.run { loop == nil }
                #expect(loop == nil)
                if isInHandler { #expect(log.count == 20) }
            }
            #expect(canaries.count == 0)
        }
    }

    @Test("A thread that ends without cancelling its host frees the loop")
    func endOfThread() async throws {
        let canaries = Canaries()
        let hosts = Recorder<LoopHost>()
        for _ in 0..<20 {
            try await Self.onThread {
                for loop in [TimerLoop.current, TimerLoop()] {
                    hosts.append(try loop.serveOnCurrentRunLoop())
                    let canary = canaries.make()
                    let timer = LoopTimer(timeInterval: .microseconds(200), repeats: true) { _ in
                        withExtendedLifetime(canary) {}
                    }
                    loop.add(timer, forMode: .default)
                }
                RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.002))
            }
        }
        let limit = MonotonicInstant.now + .seconds(60)
        while canaries.count > 0, .now < limit { try await Task.sleep(for: .milliseconds(1)) }
        #expect(canaries.count == 0)
        for host in hosts.all { host.cancel() }
    }

    @Test("A host is a source of its run loop, which waits to its limit; run(mode:before:) returns after its work")
    func keepsAlive() async throws {
        try await Self.onThread {
            #expect(!RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 60)))
            let loop = TimerLoop.current
            let host = try loop.serveOnCurrentRunLoop()
            let begin = MonotonicInstant.now
            while .now - begin < .milliseconds(20) {
                #expect(RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.02)))
            }
            loop.perform {}
            #expect(RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 600)))
            #expect(MonotonicInstant.now - begin < .seconds(300))
            host.cancel()
            #expect(!RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 60)))
        }
    }

    @Test(
        "A loop of another thread is refused with EINVAL, one on an event_base with ENOTSUP",
        .enabled(if: hasLibevent)
    )
    func refused() async throws {
        let worker = try TimerLoop.thread()
        try await Self.onThread {
            let error = #expect(throws: TimerError.self) { try worker.loop.serveOnCurrentRunLoop() }
            #expect(error?.errorNumber == EINVAL)
            let base = ctest_base_create("")
            let hosted = try TimerLoop(eventBase: base)
            let isHosted = #expect(throws: TimerError.self) { try hosted.serveOnCurrentRunLoop() }
            #expect(isHosted?.errorNumber == ENOTSUP)
            hosted.leaveEventBase()
            ctest_base_free(base)
        }
        await worker.shutdown()
    }

    @Test("In a program without Foundation there is no run loop: the call throws ENOSYS")
    func withoutFoundation() throws {
        #expect(try Program.run("AsyncMainProgram", "run-loop") == "errno \(ENOSYS)")
    }
}
