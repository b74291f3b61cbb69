// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// The end of an engine that has a thread, and of its handlers.
@Suite struct EngineEndContractTests {
    @Test("Every caller of shutdown waits for the engine's end, the second too", .hangLimit)
    func endedTwice() throws {
        let engine = try TimerEngine(.init(name: "contract"))
        let log = Recorder<String>()
        let isRunning = DispatchSemaphore(value: 0)
        engine.schedule(at: .distantPast) { _ in
            isRunning.signal()
            usleep(50_000)
            // In a handler, shutdown cannot wait for that handler.
            engine.shutdown()
            log.append("handler")
        }
        #expect(isRunning.wait(timeout: .now() + 30) == .success)
        let callers = try (0..<3).map { _ in
            try startThread {
                engine.shutdown()
                log.append("ended")
            }
        }
        callers.forEach(join)
        engine.shutdown()
        #expect(log.all == ["handler", "ended", "ended", "ended"])
    }

    @Test("If a handler shuts its engine down first, other callers return when it has returned, and not before")
    func endedByHandlerFirst() throws {
        let engine = try TimerEngine(.init(name: "contract"))
        let log = Recorder<String>()
        let isShutDown = DispatchSemaphore(value: 0)
        engine.schedule(at: .distantPast) { _ in
            engine.shutdown()
            isShutDown.signal()
            usleep(50_000)
            log.append("handler")
        }
        #expect(isShutDown.wait(timeout: .now() + 30) == .success)
        let callers = try (0..<2).map { _ in
            try startThread {
                engine.shutdown()
                log.append("ended")
            }
        }
        callers.forEach(join)
        #expect(log.all == ["handler", "ended", "ended"])
    }

    @Test("When cancelAndWait returns, what the handler captured has been freed", .hangLimit)
    func freedBeforeReturn() throws {
        let engine = try TimerEngine(.init(name: "contract"))
        defer { engine.shutdown() }
        let canaries = Canaries()
        for _ in 0..<50 {
            let (isRunning, mayReturn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let token = engine.schedule(at: .distantPast, every: .seconds(3600)) { [canary = canaries.make()] _ in
                isRunning.signal()
                mayReturn.wait()
                withExtendedLifetime(canary) {}
            }
            isRunning.wait()
            let caller = try startThread {
                engine.cancelAndWait(token)
                #expect(canaries.count == 0)
            }
            // Long enough for the caller to wait, or nearly so.
            usleep(200)
            mayReturn.signal()
            join(caller)
        }
    }

    @Test("If it takes long to free a handler, the next call is late by that time", .hangLimit)
    func slowToFree() throws {
        let engine = try TimerEngine(.init(name: "contract"))
        defer { engine.shutdown() }
        let freed = Recorder<MonotonicInstant>()
        let called = Recorder<MonotonicInstant>()
        let (isBlocked, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        engine.schedule(at: .distantPast) { _ in
            isBlocked.signal()
            mayGoOn.wait()
        }
        isBlocked.wait()
        // The engine takes both in one look at its queue.
        engine.schedule(at: .distantPast) { [slow = SlowToFree(freed)] _ in withExtendedLifetime(slow) {} }
        engine.schedule(at: .distantPast) { fire in called.append(fire.firedAt) }
        mayGoOn.signal()
        while called.count == 0 { usleep(100) }
        #expect(freed.count == 1 && called.all[0] >= freed.all[0])
    }

    @Test("The asynchronous shutdown returns how many timers it drops, as the synchronous one does")
    func droppedAsynchronously() async throws {
        let engine = try TimerEngine(.init(name: "contract"))
        for _ in 1...2 { engine.schedule(after: .seconds(3600)) { _ in } }
        #expect(await engine.shutdown() == 2)
    }

    private final class SlowToFree: Sendable {
        private let freed: Recorder<MonotonicInstant>

        init(_ freed: Recorder<MonotonicInstant>) { self.freed = freed }

        deinit {
            usleep(2000)
            freed.append(.now)
        }
    }

    @Test("Engines and loops that end in their own handlers, or in an asynchronous function, leave no thread unjoined")
    func nothingToJoin() async {
        // In a process of its own, in which nobody else maps memory.
        await #expect(processExitsWith: .success) {
            func endInHandlers(_ count: Int) throws {
                for _ in 0..<count {
                    let done = DispatchSemaphore(value: 0)
                    let engine = try TimerEngine(.init(name: "contract"))
                    engine.schedule(at: .distantPast) { _ in
                        engine.shutdown()
                        done.signal()
                    }
                    done.wait()
                    var worker: LoopThread? = try TimerLoop.thread()
                    let mayEnd = DispatchSemaphore(value: 0)
                    worker?.loop.perform { [worker] in
                        mayEnd.wait()
                        worker?.shutdown()
                    }
                    // The block holds the last reference.
                    worker = nil
                    mayEnd.signal()
                }
            }
            func endAsynchronously(_ count: Int) async throws {
                for _ in 0..<count { await (try TimerEngine(.init(name: "contract"))).shutdown() }
            }
            // glibc caches stacks for the next threads, 40 MB of them.
            try endInHandlers(20)
            try await endAsynchronously(20)
            let before = Kernel.mappedBytes
            try endInHandlers(200)
            try await endAsynchronously(200)
            // A thread that nobody joins leaves its stack of 8 MB behind.
            #expect(Kernel.mappedBytes - before < 500_000_000)
        }
    }
}
