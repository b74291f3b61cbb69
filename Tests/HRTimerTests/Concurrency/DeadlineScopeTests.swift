#if compiler(>=6.2)
import DeadlineModel
import HRTimer
import HRTimerTesting
import Synchronization
import TestSupport
import Testing

/// What a deadline cancels, and what not: operations of every kind, in groups and outside. On frozen time, which the operations
/// move themselves.
@Suite("Scopes of deadlines", .timeLimit(.minutes(15)))
struct DeadlineScopeTests {
    let time = ManualTime()
    let engine: TimerEngine
    let clock: MonotonicClock

    init() throws {
        engine = try TimerEngine(.init(time: time.base))
        clock = MonotonicClock(engine: engine)
    }

    /// Any thread.
    private final class Count: Sendable {
        private let count = Atomic(0)
        var value: Int { count.load(ordering: .acquiring) }
        func add() { count.add(1, ordering: .acquiringAndReleasing) }
    }

    private func currentTask() -> Int { withUnsafeCurrentTask { $0!.hashValue } }

    /// Each test in a task that is not in the test runner's groups.
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

    @Test("A timeout tells of an operation that blocks from its begin on, and then heeds cancellation")
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

    /// As in the examples 2, 3 and 5 of SE-0526, of which the last heeds no cancellation.
    @Test("Of nested deadlines the earlier one runs the handlers inside of it at once", arguments: [1, 3] as [Int64])
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

    @Test("Child tasks have the deadlines of their parent; a task made by Task {} has none, whatever its maker had")
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
        "A task that the operation cancels stays cancelled afterwards, outside of nested deadlines too, that have come since",
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
                // Then its deadline comes, or all, and is not what it was cancelled for.
                time.advance(by: .seconds(passes))
            }
            #expect(Task.isCancelled)
        }
    }

    @Test("An operation may add to the group that it is in the body of: the tasks outlive it")
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

    @Test("In a group's body a deadline cancels what is inside of the operation, and nothing around it")
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

    @Test("In a group's body a deadline that comes while one inside of it has passed counts when that operation ends")
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

    @Test("In a group's body, of all deadlines that have come meanwhile the outermost counts when the innermost ends")
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

    @Test("In a group's body a deadline cancels nothing around it though its handlers have other deadlines come")
    func handlersBringDeadlines() async throws {
        // On an engine of its own: that of the first one waits for its handler.
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
        "In a group's body, within an operation, the deadline of the operation counts as well, and its caller's cancellation"
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
        "In a group's body the cancellation of the task stays, if it comes before the deadline",
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

    /// Swift's runtime tells nobody of a second cancellation: if this is true one day, `withDeadline` says too little.
    @Test("In a group's body a cancellation between the deadline and the operation's end is lost")
    func groupCancelledLate() async {
        await detached {
            await withTaskGroup(of: Void.self) { group in
                await withDeadline(in: .seconds(1), clock: clock) {
                    time.advance(by: .seconds(1))
                    withUnsafeCurrentTask { $0?.cancel() }
                }
                #expect(!Task.isCancelled)
            }
        }
    }

    @Test("On a clock of somebody else's an operation may add to the group that it is in the body of, too")
    func foreignInGroup() async {
        struct Foreign: Clock, Identifiable {
            let base: MonotonicClock
            let id = "foreign"
            var now: MonotonicInstant { base.now }
            var minimumResolution: Duration { base.minimumResolution }
            func sleep(until deadline: MonotonicInstant, tolerance: Duration?) async throws {
                try await base.sleep(until: deadline, tolerance: tolerance)
            }
        }
        await detached {
            await withTaskGroup(of: Int.self) { group in
                await withDeadline(in: .seconds(1), clock: Foreign(base: clock)) {
                    // Slept for before the operation begins.
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

    @Test("Values of a group that is waited for inside an operation come, and the wait is cancelled with it")
    func groupIsAwaited() async {
        await detached {
            await withTaskGroup(of: Int.self) { group in
                group.addTask { 7 }
                let value = try? await withTimeout(.seconds(1), clock: clock) { await group.next() }
                #expect(value == 7)
            }
        }
    }

    @Test("Operations at random end as their deadlines say, whatever they do")
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
#endif
