// SPDX-License-Identifier: Apache-2.0
import CTestSupport
import Dispatch
import Glibc
import HRTimer
import TestSupport
import TestTraits
import Testing

/// Hosting a loop with one call, on the real kernel.
@Suite(.serialized, .hangLimit) struct ServeTests {
    private let log = Recorder<String>()

    @Test("A queue, serial or concurrent, runs a loop's handlers one at a time, until the host is cancelled")
    func queues() async throws {
        for attributes: DispatchQueue.Attributes in [[], .concurrent] {
            log.removeAll()
            let loop = TimerLoop()
            let queue = DispatchQueue(label: "host", attributes: attributes)
            let host = try loop.serve(on: queue)
            let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { [log] timer in
                dispatchPrecondition(condition: .onQueue(queue))
                log.append(timer.fireInstant <= .now ? "tick" : "early")
            }
            loop.add(timer, forMode: .default)
            loop.perform { [log] in log.append("block") }
            while log.count < 6 || !log.all.contains("block") { try await Task.sleep(for: .milliseconds(1)) }
            #expect(Set(log.all) == ["block", "tick"])
            host.cancel()
            host.cancel()
            await Self.drain(queue)
            let count = log.count
            try await Task.sleep(for: .milliseconds(20))
            #expect(log.count == count)
        }
    }

    private static func drain(_ queue: DispatchQueue) async {
        for _ in 0..<2 {
            await withCheckedContinuation { continuation in
                queue.async(flags: .barrier) { continuation.resume() }
            }
        }
    }

    @Test("The host holds the loop until it is cancelled, and no longer")
    func holds() async throws {
        weak var loop: TimerLoop?
        let host: LoopHost
        do {
            let made = TimerLoop()
            loop = made
            host = try made.serve(on: DispatchQueue(label: "host"))
        }
        try await Task.sleep(for: .milliseconds(5))
        #expect(loop != nil)
        host.cancel()
        let limit = MonotonicInstant.now + .seconds(30)
        while loop != nil, .now < limit { try await Task.sleep(for: .milliseconds(1)) }
        #expect(loop == nil)
    }

    @Test("A loop that a queue could never run is refused, with a sentence that says what to do")
    func refused() async throws {
        let queue = DispatchQueue(label: "host")
        let main = #expect(throws: TimerError.self) { try TimerLoop.main.serve(on: queue) }
        #expect(main?.errorNumber == EINVAL && "\(main!)".contains("belongs to the main queue"))
        let worker = try TimerLoop.thread()
        let threads = #expect(throws: TimerError.self) { try worker.loop.serve(on: .main) }
        #expect(threads?.errorNumber == EINVAL && "\(threads!)".contains("TimerLoop()"))
        await worker.shutdown()
    }

    @Test("A loop on an event_base is refused with ENOTSUP, since it has a host", .enabled(if: hasLibevent))
    func onEventBase() throws {
        let base = ctest_base_create("")
        let loop = try TimerLoop(eventBase: base)
        let error = #expect(throws: TimerError.self) { try loop.serve(on: DispatchQueue(label: "host")) }
        #expect(error?.errorNumber == ENOTSUP)
        loop.leaveEventBase()
        ctest_base_free(base)
    }

    @Test("Threads may end while queues run their loops: nothing deadlocks, and handlers are freed")
    func endsOfThreads() async throws {
        let canaries = Canaries()
        for _ in 0..<20 {
            let threads = try (0..<8).map { _ in
                try startThread {
                    let loops = (0..<4).map { _ in TimerLoop() }
                    let hosts = loops.map { try? $0.serve(on: .global()) }
                    for loop in loops {
                        let canary = canaries.make()
                        let timer = LoopTimer(timeInterval: .microseconds(50), repeats: true) { _ in
                            withExtendedLifetime(canary) {}
                        }
                        loop.add(timer, forMode: .common)
                        for _ in 0..<20 { loop.perform { withExtendedLifetime(canary) {} } }
                    }
                    for host in hosts { host?.cancel() }
                }
            }
            await Task.detached { for thread in threads { pthread_join(thread, nil) } }.value
        }
        let limit = MonotonicInstant.now + .seconds(60)
        while canaries.count > 0, .now < limit { try await Task.sleep(for: .milliseconds(1)) }
        #expect(canaries.count == 0)
    }

    @Test("Calling process() for a thread's loop or the main loop elsewhere ends the program instead of spinning")
    func elsewhere() async {
        await #expect(processExitsWith: .failure) {
            let worker = try TimerLoop.thread()
            Self.process(worker.loop)
        }
        await #expect(processExitsWith: .failure) {
            // This thread is not on the main queue.
            let thread = try startThread { TimerLoop.main.process() }
            pthread_join(thread, nil)
        }
    }

    private static func process(_ loop: TimerLoop) { loop.process() }

    @Test("A main queue that is not on the main thread runs the main loop as its current loop, with serve or without")
    @MainActor func main() async throws {
        let host = try TimerLoop.main.serve(on: .main)
        let ran = Recorder<Bool>()
        TimerLoop.main.perform { ran.append(Self.isCurrentMain) }
        while ran.count < 1 { try await Task.sleep(for: .milliseconds(1)) }
        host.cancel()
        TimerLoop.main.perform { ran.append(Self.isCurrentMain) }
        while ran.count < 2 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(ran.all == [true, true])
        #expect(Self.isCurrentMain)
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: false) { _ in ran.append(true) }
        TimerLoop.main.add(timer, forMode: .default)
        // The main queue's holder may run the loop as well, and waits meanwhile.
        Self.runMain(until: .now + .milliseconds(20))
        #expect(ran.count == 3)
    }

    private static var isCurrentMain: Bool { TimerLoop.current == TimerLoop.main }
    private static func runMain(until limit: MonotonicInstant) { TimerLoop.main.run(until: limit) }

    @Test(
        "An event_base runs a loop that exists already, until the host is cancelled, in its own handler too",
        .enabled(if: hasLibevent)
    )
    func eventBase() throws {
        let base = ctest_base_create("")
        let loop = TimerLoop()
        let host = try loop.serve(onEventBase: base)
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { [log] timer in
            log.append(timer.fireInstant <= .now ? "tick" : "early")
            if log.count == 3 { host.cancel() }
        }
        loop.add(timer, forMode: .default)
        #expect(ctest_base_run(base, CTEST_UNTIL_NO_EVENT) == 0 || log.count == 3)
        #expect(log.all == ["tick", "tick", "tick"])
        #expect(ctest_base_event_count(base) == 0)
        ctest_base_free(base)
        timer.invalidate()
    }
}
