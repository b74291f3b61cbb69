// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer
import Synchronization
import TestSupport
import TestTraits
import Testing

/// Deadlines of operations that compute and block, on the real clock. The tests set no upper bound: a cancellation only has to
/// come.
@Suite("Deadlines on the real clock", .ownThread, .hangLimit)
struct DeadlineContractTests {
    /// Polls until the condition holds, for a minute at most. Returns whether it does.
    private func comes(_ condition: () -> Bool) -> Bool {
        let end = MonotonicInstant.now + .seconds(60)
        while !condition() {
            if MonotonicInstant.now > end { return false }
            usleep(100)
        }
        return true
    }

    /// A counter for any thread.
    private final class Count: Sendable {
        private let count = Atomic(0)
        var value: Int { count.load(ordering: .acquiring) }
        func add() { count.add(1, ordering: .acquiringAndReleasing) }
    }

    private actor Worker {
        func compute(_ comes: (() -> Bool) -> Bool) async -> (wasCancelled: Bool, deadline: MonotonicInstant) {
            let deadline = MonotonicInstant.now + .milliseconds(2)
            return await withDeadline(deadline, clock: MonotonicClock()) { (comes { Task.isCancelled }, deadline) }
        }
    }

    @Test("An operation that computes or blocks and never suspends is cancelled at its deadline, not before it")
    func computes() async throws {
        let (wasCancelled, deadline) = await Worker().compute(comes)
        #expect(wasCancelled)
        #expect(MonotonicInstant.now >= deadline)
        await #expect(throws: TimedOut.self) {
            try await withTimeout(.milliseconds(2)) {
                #expect(comes { Task.isCancelled })
                try Task.checkCancellation()
            }
        }
        #expect(await withDeadline(in: .milliseconds(2)) { comes { Task.isCancelled } })
        #expect(await withDeadline(in: .milliseconds(2), clock: SuspendingClock()) { comes { Task.isCancelled } })
    }

    @Test("An operation that blocks the thread of its own clock's engine is cancelled at its deadline")
    func ownEngine() async throws {
        let executor = try TimerExecutor()
        let wasCancelled = await Task(executorPreference: executor) {
            #expect(executor.isCurrent)
            return await withDeadline(in: .milliseconds(2), clock: MonotonicClock()) { comes { Task.isCancelled } }
        }.value
        #expect(wasCancelled)
    }

    @Test("A cancellation handler that blocks delays neither the engine nor other operations' handlers")
    func blockingHandlers() async throws {
        let engine = try TimerEngine(.init(name: "contract"))
        let clock = MonotonicClock(engine: engine)
        let isBlocked = Count()
        let fired = Count()
        let others = Count()
        let sawTimer = Count()
        let sawOthers = Count()
        // In a task of its own: while its cancellation handler runs, Swift's runtime keeps a task and its thread from going on.
        let blocked = Task.detached {
            await withDeadline(in: .milliseconds(1), clock: clock) {
                await withTaskCancellationHandler {
                    await untilCancelled()
                } onCancel: {
                    isBlocked.add()
                    if comes({ fired.value == 1 }) { sawTimer.add() }
                    if comes({ others.value == 20 }) { sawOthers.add() }
                }
            }
        }
        while isBlocked.value == 0 { await Task.yield() }
        engine.schedule(after: .milliseconds(1)) { _ in fired.add() }
        await withDiscardingTaskGroup { group in
            for _ in 0..<20 {
                group.addTask {
                    await withDeadline(in: .milliseconds(1), clock: clock) {
                        await withTaskCancellationHandler {
                            await untilCancelled()
                        } onCancel: {
                            others.add()
                        }
                    }
                }
            }
        }
        await blocked.value
        #expect(sawTimer.value == 1)
        #expect(sawOthers.value == 1)
        #expect(engine.liveTimers == 0)
        await engine.shutdown()
    }

    @Test("While one handler blocks, the first of two that come at once does not keep the second waiting")
    func blockingTogether() async {
        // In a process of its own: threads that other tests have started would run handlers too.
        await #expect(processExitsWith: .success) { try await DeadlineContractTests().blockTogether() }
    }

    @Test("Of the threads that handlers have blocked at once one stays, for further deadlines")
    func oneStays() async {
        await #expect(processExitsWith: .success) {
            let tests = DeadlineContractTests()
            // A busy machine may look too late.
            for _ in 0..<10 {
                try await tests.blockTogether()
                usleep(300_000)
                if tests.threadsNamed("hrtimer-cancel") == 1 { return }
            }
            Issue.record("\(tests.threadsNamed("hrtimer-cancel")) threads stay")
        }
    }

    private func blockTogether() async throws {
        let clock = MonotonicClock()
        let begun = Count()
        let sawAll = Count()
        @Sendable func operate(until deadline: MonotonicInstant) async {
            let hasBegun = Count()
            await withDeadline(deadline, clock: clock) {
                await withTaskCancellationHandler {
                    // Not until the task is cancelled, which is so before its handlers run: an operation that returns in between
                    // removes its handler.
                    while hasBegun.value == 0 { usleep(100) }
                } onCancel: {
                    hasBegun.add()
                    begun.add()
                    if comes({ begun.value == 3 }) { sawAll.add() }
                }
            }
        }
        // Each task has a thread of its own, which its handler keeps busy. The pool has only one thread per processor.
        let executors = try (0..<3).map { _ in try TimerExecutor() }
        let first = Task(executorPreference: executors[0]) { await operate(until: clock.now + .milliseconds(1)) }
        while begun.value == 0 { await Task.yield() }
        let deadline = clock.now + .milliseconds(100)
        let others = executors.dropFirst().map { executor in
            Task(executorPreference: executor) { await operate(until: deadline) }
        }
        for task in [first] + others { await task.value }
        #expect(sawAll.value == 3)
    }

    private func untilCancelled() async {
        let stream = AsyncStream<Never> { _ in }
        for await _ in stream {}
    }

    private final class Name: Sendable { let text = Mutex("") }

    @Test("Cancellation handlers run on threads of their own, which end when they have nothing to do")
    func threads() async {
        // In a process of its own: other tests have deadlines at any time, too.
        await #expect(processExitsWith: .success) { await DeadlineContractTests().handOver() }
    }

    @Test("Threads that ran cancellation handlers leave no stack mapped")
    func threadsEnd() async {
        await #expect(processExitsWith: .success) {
            let executors = try (0..<2).map { _ in try TimerExecutor() }
            // Each round's handlers block long enough for a second thread to start, which ends with the round.
            func rounds(_ count: Int) async {
                for _ in 0..<count {
                    let deadline = MonotonicInstant.now + .milliseconds(5)
                    await withTaskGroup { group in
                        for executor in executors {
                            group.addTask(executorPreference: executor) {
                                await withDeadline(deadline, clock: .monotonic) {
                                    await withTaskCancellationHandler {
                                        try? await Task.sleep(for: .seconds(60))
                                    } onCancel: {
                                        usleep(10_000)
                                    }
                                }
                            }
                        }
                    }
                }
            }
            await rounds(10)
            let before = Kernel.mappedBytes
            await rounds(60)
            // A thread's stack has 8 MB where nobody has set another size: pthread_create(3).
            #expect(Kernel.mappedBytes < before + 100_000_000)
        }
    }

    private func handOver() async {
        // If the deadline comes before the handler is set, the task itself runs the handler. Then the next one is further away.
        var name = ""
        var length = Duration.milliseconds(1)
        while name.isEmpty, length < .seconds(60) {
            name = await nameOfHandlersThread(length)
            length *= 2
        }
        #expect(name == "hrtimer-cancel")
        // It stays for a second, for further deadlines. A busy machine may take longer to look.
        var stays = false
        for _ in 0..<20 where !stays {
            _ = await nameOfHandlersThread(length)
            usleep(100_000)
            stays = threadsNamed("hrtimer-cancel") == 1
        }
        #expect(stays)
        #expect(comes { threadsNamed("hrtimer-cancel") == 0 })
    }

    /// Returns the name of the thread that ran the handler, or "" if the operation was cancelled before it began.
    private func nameOfHandlersThread(_ length: Duration) async -> String {
        let name = Name()
        let isInTime = await withDeadline(in: length, clock: MonotonicClock()) {
            await withTaskCancellationHandler {
                let isInTime = !Task.isCancelled
                await untilCancelled()
                return isInTime
            } onCancel: {
                name.text.withLock { $0 = threadName("thread-self") }
            }
        }
        return isInTime ? name.text.withLock { $0 } : ""
    }

    private func threadsNamed(_ name: String) -> Int {
        guard let folder = opendir("/proc/self/task") else { return -1 }
        defer { closedir(folder) }
        var count = 0
        while let entry = readdir(folder) {
            let thread = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if threadName("self/task/\(thread)") == name { count += 1 }
        }
        return count
    }

    private func threadName(_ thread: String) -> String {
        guard let file = fopen("/proc/\(thread)/comm", "r") else { return "" }
        defer { fclose(file) }
        var name = ""
        while case let character = fgetc(file), character > 0, character != 10 {
            name.unicodeScalars.append(Unicode.Scalar(UInt8(character)))
        }
        return name
    }
}
