// SPDX-License-Identifier: Apache-2.0
import DeadlineModel
import HRTimer
import HRTimerTesting
import Synchronization
import TestSupport
import Testing

/// Tests of what a deadline cancels and what it leaves alone: operations of every kind, inside and outside of task groups. On
/// frozen time, which the operations advance themselves.
@Suite("Scopes of deadlines", .timeLimit(.minutes(15)))
struct DeadlineScopeTests {
    let time = ManualTime()
    let engine: TimerEngine
    let clock: MonotonicClock

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        clock = MonotonicClock(engine: engine)
    }

    /// A counter for any thread.
    private final class Count: Sendable {
        private let count = Atomic(0)
        var value: Int { count.load(ordering: .acquiring) }
        func add() { count.add(1, ordering: .acquiringAndReleasing) }
    }

    private func currentTask() -> Int { withUnsafeCurrentTask { $0!.hashValue } }

    /// Runs `body` in a detached task, so that it is in none of the test runner's task groups.
    private func detached<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) async -> Result {
        await Task.detached { await body() }.value
    }

    private actor Worker {
        func compute(_ time: ManualTime, _ clock: MonotonicClock) async -> [Bool] {
            await withDeadline(in: .seconds(5), clock: clock) {
                time.advance(by: .seconds(5) - .nanoseconds(1))
                let before = Task.isCancelled
                time.advance(by: .nanoseconds(1))
                return [before, Task.isCancelled]
            }
        }
    }

    @Test("An operation that only computes is cancelled at its deadline, on an actor too")
    func computes() async {
        #expect(await Worker().compute(time, clock) == [false, true])
        let wasCancelled = await detached {
            await withDeadline(in: .seconds(1), clock: clock) {
                time.advance(by: .seconds(1))
                return Task.isCancelled
            }
        }
        #expect(wasCancelled)
    }

    @Test("An operation that blocks at once and checks for cancellation afterwards ends with TimedOut")
    func blocks() async {
        await #expect(throws: TimedOut.self) {
            try await withTimeout(.seconds(1), clock: clock) {
                time.advance(by: .seconds(2))
                try Task.checkCancellation()
            }
        }
        #expect(!Task.isCancelled)
    }

    private final class Trail: Sendable { let steps = Mutex<[String]>([]) }

    /// Follows the examples 2, 3 and 5 of SE-0526; the operation of example 5 ignores its cancellation.
    @Test("The earlier of nested deadlines runs the handlers inside its scope at once", arguments: [1, 3] as [Int64])
    func nestedHandlers(inner: Int64) async {
        let trail = Trail()
        @Sendable func note(_ text: String) { trail.steps.withLock { $0.append(text) } }
        await detached {
            await withDeadline(in: .seconds(2), clock: clock) {
                await withTaskCancellationHandler {
                    await withDeadline(in: .seconds(inner), clock: clock) {
                        await withTaskCancellationHandler {
                            time.advance(by: .seconds(1))
                            note("1 s")
                            time.advance(by: .seconds(1))
                            note("2 s")
                            time.advance(by: .seconds(1))
                        } onCancel: {
                            note("inner")
                        }
                    }
                } onCancel: {
                    note("outer")
                }
            }
        }
        let expected = inner == 1 ? ["inner", "1 s", "outer", "2 s"] : ["1 s", "inner", "outer", "2 s"]
        #expect(trail.steps.withLock { $0 } == expected)
    }

    @Test("The operation's task has the caller's name")
    func name() async {
        let names = await Task.detached(name: "caller") {
            await withDeadline(in: .seconds(1), clock: clock) { [Task.name, await childName()] }
        }.value
        #expect(names == ["caller", nil])
    }

    private func childName() async -> String? {
        async let name = Task.name
        return await name
    }

    @Test("Child tasks have the deadlines of their parent; a task made by Task {} has none, whatever its creator had")
    func unstructured() async {
        await detached {
            let deadline = time.now + .seconds(5)
            let late = await withDeadline(deadline, clock: clock) {
                let made = Task { (Task.hasActiveDeadline, Task.activeDeadline(for: clock)) }
                #expect(await made.value == (false, nil))
                let inside = Task {
                    await withDeadline(deadline + .seconds(1), clock: clock) { Task.activeDeadline(for: clock) }
                }
                #expect(await inside.value == deadline + .seconds(1))
                await withTaskGroup(of: Bool.self) { group in
                    group.addTask { Task.hasActiveDeadline && Task.activeDeadline(for: clock) == deadline }
                    #expect(await group.next() == true)
                }
                return Task {
                    while engine.liveTimers > 0 { await Task.yield() }
                    return Task.hasActiveDeadline
                }
            }
            #expect(await !late.value)
        }
    }

    @Test(
        "A task that its operation cancels stays cancelled, also outside of nested deadlines that passed since",
        arguments: [1, 2, 3],
        [1, 3]
    )
    func cancelsItself(depth: Int, passes: Int) async {
        await detached {
            await nest(depth, passes)
            #expect(Task.isCancelled)
        }
    }

    private nonisolated(nonsending) func nest(_ depth: Int, _ passes: Int) async {
        await withDeadline(in: .seconds(depth), clock: clock) {
            if depth > 1 {
                await nest(depth - 1, passes)
            } else {
                withUnsafeCurrentTask { $0?.cancel() }
                // Then the innermost deadline passes, or all of them, but none is the reason for the cancellation.
                time.advance(by: .seconds(passes))
            }
            #expect(Task.isCancelled)
        }
    }

    @Test("An operation may add tasks to the group whose body it runs in, and the tasks outlive it")
    func groups() async {
        let ended = await detached {
            await withTaskGroup(of: Int.self) { group in
                let task = currentTask()
                for round in 0..<200 {
                    await withDeadline(in: .seconds(1), clock: clock) {
                        #expect(currentTask() == task)
                        group.addTask {
                            await Task.yield()
                            return 1
                        }
                        await Task.yield()
                    }
                    if round.isMultiple(of: 3) { group.addTask { 1 } }
                }
                return await group.reduce(0, +)
            }
        }
        #expect(ended == 267)
        let discarded = Count()
        await Task.detached {
            await withDiscardingTaskGroup { group in
                for _ in 0..<200 {
                    try? await withTimeout(.seconds(1), clock: clock) {
                        group.addTask {
                            await Task.yield()
                            discarded.add()
                        }
                        await Task.yield()
                    }
                }
            }
        }.value
        #expect(discarded.value == 200)
        #expect(engine.liveTimers == 0)
    }

    @Test("In a group's body a deadline cancels everything inside its operation, and nothing around it")
    func groupBodies() async {
        await detached {
            let inside = Count()
            let around = Count()
            await withTaskGroup(of: String?.self) { group in
                let gate = AsyncStream.makeStream(of: Void.self)
                group.addTask {
                    for await _ in gate.stream {}
                    return Task.isCancelled ? "an earlier child was cancelled" : nil
                }
                await withTaskCancellationHandler {
                    await withDeadline(in: .seconds(1), clock: clock) {
                        await withTaskCancellationHandler {
                            async let child = untilCancelled()
                            time.advance(by: .seconds(1))
                            #expect(await child)
                            #expect(Task.isCancelled)
                        } onCancel: {
                            inside.add()
                        }
                        group.addTask { Task.isCancelled ? nil : "a child of a cancelled operation was not cancelled" }
                    }
                    #expect(!Task.isCancelled)
                    #expect(!group.isCancelled)
                    group.addTask { Task.isCancelled ? "a later child was cancelled" : nil }
                } onCancel: {
                    around.add()
                }
                gate.continuation.finish()
                for await wrong in group { #expect(wrong == nil) }
            }
            #expect(inside.value == 1)
            #expect(around.value == 0)
        }
    }

    private func untilCancelled() async -> Bool {
        let stream = AsyncStream<Never> { _ in }
        for await _ in stream {}
        return Task.isCancelled
    }

    @Test("On this runtime no warning says that a deadline in a group's body cancels more than its operation")
    func noWarning() async {
        await #expect(processExitsWith: .success) {
            let told = Recorder<UsageWarning>()
            UsageWarning.handler = { told.append($0) }
            await withTaskGroup(of: Void.self) { group in
                group.addTask {}
                await withDeadline(in: .seconds(60), clock: .monotonic) {}
            }
            #expect(told.count == 0)
        }
    }

    @Test("In a group's body an outer deadline that passes after an inner one acts when the inner operation ends")
    func nestedInGroups() async {
        await detached {
            let around = Count()
            await withTaskGroup(of: Void.self) { group in
                await withDeadline(in: .seconds(2), clock: clock) {
                    await withTaskCancellationHandler {
                        await withDeadline(in: .seconds(1), clock: clock) {
                            time.advance(by: .seconds(1))
                            #expect(Task.isCancelled)
                            time.advance(by: .seconds(1))
                            #expect(around.value == 0)
                        }
                        #expect(Task.isCancelled)
                        #expect(around.value == 1)
                    } onCancel: {
                        around.add()
                    }
                }
                #expect(!Task.isCancelled)
            }
        }
    }

    @Test("In a group's body the outermost of several passed deadlines acts when the innermost operation ends")
    func outermostInGroups() async {
        await detached {
            let around = Count()
            await withTaskGroup(of: Void.self) { group in
                await withDeadline(in: .seconds(3), clock: clock) {
                    await withTaskCancellationHandler {
                        await withDeadline(in: .seconds(2), clock: clock) {
                            await withDeadline(in: .seconds(1), clock: clock) { time.advance(by: .seconds(3)) }
                            #expect(around.value == 1)
                        }
                    } onCancel: {
                        around.add()
                    }
                }
                #expect(!Task.isCancelled)
            }
        }
    }

    @Test("In a group's body a deadline cancels nothing around it, even if its handlers make another deadline pass")
    func handlersBringDeadlines() async throws {
        // The other deadline has its own engine, because the first engine waits for the cancellation handler.
        let otherClock = MonotonicClock(engine: try TimerEngine(.init(time: time.base)))
        await detached {
            let other = Count()
            let inOther = AsyncStream.makeStream(of: Void.self)
            let bystander = Task.detached {
                await withTaskGroup(of: Void.self) { group in
                    await withDeadline(in: .seconds(2), clock: otherClock) {
                        await withTaskCancellationHandler {
                            inOther.continuation.finish()
                            _ = await untilCancelled()
                        } onCancel: {
                            other.add()
                        }
                    }
                    #expect(!Task.isCancelled)
                }
            }
            for await _ in inOther.stream {}
            await withTaskGroup(of: Void.self) { group in
                await withDeadline(in: .seconds(1), clock: clock) {
                    await withTaskCancellationHandler {
                        time.advance(by: .seconds(1))
                        #expect(Task.isCancelled)
                    } onCancel: {
                        time.advance(by: .seconds(1))
                        #expect(other.value == 1)
                    }
                }
                #expect(!Task.isCancelled)
            }
            await bystander.value
        }
    }

    @Test(
        "In a group's body within an operation, the operation's deadline and its caller's cancellation count as well"
    )
    func groupInOperation() async {
        await detached {
            await withDeadline(in: .seconds(2), clock: clock) {
                await withTaskGroup(of: Void.self) { group in
                    await withDeadline(in: .seconds(1), clock: clock) { time.advance(by: .seconds(5)) }
                    #expect(Task.isCancelled)
                }
                #expect(Task.isCancelled)
            }
            #expect(!Task.isCancelled)
            let caller = withUnsafeCurrentTask { $0! }
            await withDeadline(in: .seconds(2), clock: clock) {
                await withTaskGroup(of: Void.self) { group in
                    await withDeadline(in: .seconds(1), clock: clock) {
                        time.advance(by: .seconds(1))
                        caller.cancel()
                    }
                    #expect(Task.isCancelled)
                }
            }
            #expect(Task.isCancelled)
        }
    }

    @Test(
        "In a group's body a cancellation of the task before the deadline stays in effect",
        arguments: [false, true]
    )
    func groupCancelled(comes: Bool) async {
        await detached {
            await withTaskGroup(of: Void.self) { group in
                await withDeadline(in: .seconds(1), clock: clock) {
                    withUnsafeCurrentTask { $0?.cancel() }
                    if comes { time.advance(by: .seconds(1)) }
                }
                #expect(Task.isCancelled)
                #expect(await withDeadline(in: .seconds(1), clock: clock) { Task.isCancelled })
            }
            #expect(Task.isCancelled)
        }
    }

    @Test("On a foreign clock, too, an operation may add tasks to the group whose body it runs in")
    func foreignInGroup() async {
        await detached {
            await withTaskGroup(of: Int.self) { group in
                await withDeadline(in: .seconds(1), clock: ForeignClock(base: clock)) {
                    // The sleep on the clock begins before the operation does.
                    #expect(engine.liveTimers == 1)
                    group.addTask { 1 }
                    time.advance(by: .seconds(1))
                    #expect(await untilCancelled())
                }
                #expect(!Task.isCancelled)
                #expect(await group.next() == 1)
            }
        }
        #expect(engine.liveTimers == 0)
    }

    @Test("An operation in a group's body can wait for the group's values, and its cancellation ends the wait")
    func groupIsAwaited() async {
        await detached {
            await withTaskGroup(of: Int.self) { group in
                group.addTask { 7 }
                let value = try? await withTimeout(.seconds(1), clock: clock) { await group.next() }
                #expect(value == 7)
            }
        }
    }

    @Test("Random operations end as their deadlines say, whatever they do")
    func model() async throws {
        let rounds = environment("HRTIMER_MODEL_OPERATIONS").flatMap { Int($0) } ?? 500
        var random = SeededRandom.fromEnvironment()
        let first = random.next() >> 8
        for round in 0..<UInt64(rounds) {
            let time = ManualTime()
            let clock = MonotonicClock(engine: try TimerEngine(.init(time: time.base)))
            let model = DeadlineModel(clock, isExact: true) { time.advance(by: $0) }
            try await model.run(seed: first + round)
        }
    }
}
