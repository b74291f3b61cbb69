// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Jobs that occupy the test's thread: they block, compute, or only change executors.
@Suite struct BusyThreadTests {
    @Test("A task that blocks the test's thread fails the test by name when patience ends, and other tasks continue")
    func blocks() async throws {
        let gate = DispatchSemaphore(value: 0)
        let options = TestTimeOptions(patience: .milliseconds(500))
        let failure = await #expect(throws: TestTimeFailure.self) {
            try await withManualTime(options) { time in
                let blocker = Task { block(at: gate) }
                // Ready, but not run before patience ends; then it runs elsewhere, as a task that has lost its virtual time.
                let opener = Task { _ = gate.signal() }
                await blocker.value
                await opener.value
            }
        }
        #expect(failure?.reason == .blocked)
        #expect(failure?.pending.first == "task 1 has not come back")
        // The next test works as usual.
        try await withManualTime { _ in try await Task.sleep(for: .seconds(1), clock: .monotonic) }
    }

    @Test("A handler that blocks the test's thread fails the test too, and what the body does then no longer counts")
    func handlerBlocks() async throws {
        let gate = DispatchSemaphore(value: 0)
        let failure = await #expect(throws: TestTimeFailure.self) {
            try await withManualTime(TestTimeOptions(patience: .milliseconds(500))) { time in
                let engine = try TimerEngine(.init(name: "stuck"))
                engine.schedule(after: .seconds(1)) { _ in block(at: gate) }
                await time.advance(by: .seconds(1))
            }
        }
        #expect(failure?.reason == .blocked)
        #expect(failure?.pending.first == "engine stuck has not come back")
        gate.signal()
    }

    @Test("A task that computes for less than its patience, and one that runs a loop meanwhile, do not fail")
    func computes() async throws {
        try await withManualTime(TestTimeOptions(patience: .milliseconds(400))) { time in
            for _ in 0..<10 {
                usleep(50_000)
                await Task.yield()
            }
            // Many jobs inside one job, which together take longer than its patience.
            for _ in 0..<10 { runLoop() }
        }
    }

    private func runLoop() {
        let loop = TimerLoop.current
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: false) { _ in usleep(50_000) }
        loop.add(timer, forMode: .default)
        loop.run(for: .seconds(2))
    }

    private func block(at gate: DispatchSemaphore) { gate.wait() }

    @Test(
        "No task runs between a call of a nonisolated function and its continuation, in any kind of task, with any seed"
    )
    func continuations() async throws {
        for seed in 0..<20 as Range<UInt64> {
            try await withManualTime(TestTimeOptions(seed: seed, patience: .seconds(10))) { time in
                let lock = HeldLock()
                await withTaskGroup(of: Void.self) { group in
                    for number in 0..<5 { group.addTask { await lock.hold(for: number) } }
                }
                let plain = (0..<20).map { number in Task { await lock.hold(for: number) } }
                let detached = (0..<20).map { number in Task.detached { await lock.hold(for: number) } }
                for task in plain + detached { await task.value }
                #expect(lock.taken == (3 * 10 + 2 * 8) + 40 * 9)
            }
        }
    }

    /// A lock as merge, zip and others of swift-async-algorithms use it: locked before the continuation, unlocked in its closure.
    private final class HeldLock: Sendable {
        private let isHeld = Recorder<Bool>()
        private let total = Recorder<Bool>()

        var taken: Int { total.count }

        func hold(for number: Int) async {
            for _ in 0..<(number % 2 == 0 ? 10 : 8) {
                // If this were a real lock, two tasks here at once would block each other for ever.
                #expect(isHeld.all.last != true, "another task came in between")
                isHeld.append(true)
                await withUnsafeContinuation { continuation in
                    isHeld.append(false)
                    total.append(true)
                    continuation.resume()
                }
                await Task.yield()
            }
        }
    }

    @Test("A task that only calls nonisolated functions does not keep others from running", arguments: [nil, 1, 2])
    func callsWithoutEnd(seed: UInt64?) async throws {
        try await withManualTime(TestTimeOptions(seed: seed, patience: .seconds(10))) { _ in
            let busy = Task { while !Task.isCancelled { await nothing() } }
            let other = Task { for _ in 0..<10 { await Task.yield() } }
            await other.value
            busy.cancel()
            await busy.value
        }
    }

    private func nothing() async { await withUnsafeContinuation { $0.resume() } }

    @Test("Tasks are caught again after another library has replaced the enqueue hook and left it empty")
    func otherHook() async {
        // In a process of its own: the hook belongs to the process, and other tests need it to catch their tasks.
        await #expect(processExitsWith: .success) {
            try await withManualTime { _ in
                let here = Self.ownThread()
                Self.forgetHook()
                await Task.yield()
                for _ in 0..<100 { #expect(await Task { Self.ownThread() }.value == here) }
            }
        }
    }

    private static func ownThread() -> pthread_t { pthread_self() }

    /// Clears the hook, as AsyncSequenceValidation does at the end of a diagram.
    private static func forgetHook() {
        dlsym(nil, "swift_task_enqueueGlobal_hook").map { $0.assumingMemoryBound(to: UnsafeMutableRawPointer?.self) }!
            .pointee = nil
    }

    /// Returns options that soon run other jobs beside a slow one, and have much patience with the test.
    private func impatient(seed: UInt64? = nil) -> TestTimeOptions {
        var options = TestTimeOptions(seed: seed, patience: .seconds(20))
        options.slowness = .milliseconds(50)
        return options
    }

    @Test("A task that computes until another one cancels it is cancelled, and the clock stands still meanwhile")
    func computesUntilCancelled() async throws {
        try await withManualTime(impatient()) { time in
            let start = time.now
            let next = Recorder<MonotonicInstant>()
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await Task.yield()
                    while !Task.isCancelled {}
                    next.append(time.now)
                }
                // Time for the child to begin computing: from then on the body is ready, but not run.
                for _ in 0..<10 { await Task.yield() }
                group.cancelAll()
                await group.waitForAll()
            }
            #expect(next.all == [start])
            try await Task.sleep(for: .seconds(3), clock: .monotonic)
            #expect(time.now == start.advanced(by: .seconds(3)))
        }
    }

    @Test("Other tasks run beside a blocked one, one after the other, and do what it waits for", arguments: [nil, 7])
    func taskWaits(seed: UInt64?) async throws {
        try await withManualTime(impatient(seed: seed)) { _ in
            let gate = DispatchSemaphore(value: 0)
            let blocked = Task { block(at: gate) }
            await open(gate).value
            await blocked.value
        }
    }

    @Test("Tasks also run beside a blocked handler, and do what it waits for")
    func handlerWaits() async throws {
        try await withManualTime(impatient()) { time in
            let gate = DispatchSemaphore(value: 0)
            let engine = try TimerEngine()
            engine.schedule(after: .seconds(1)) { _ in
                _ = open(gate)
                block(at: gate)
            }
            await time.advance(by: .seconds(1))
        }
    }

    private func open(_ gate: DispatchSemaphore) -> Task<Void, Never> {
        let first = Task { await Task.yield() }
        return Task {
            for _ in 0..<3 { await Task { await first.value }.value }
            gate.signal()
        }
    }
}
