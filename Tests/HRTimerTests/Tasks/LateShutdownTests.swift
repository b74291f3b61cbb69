// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import TestTraits
import Testing

/// Tests of cancellations that come to a task in a group's body after a deadline has expired there. On frozen time, which the
/// operations advance themselves.
@Suite("In a group's body a task", .hangLimit)
struct LateShutdownTests {
    private let time = ManualTime()
    private let clock: MonotonicClock

    init() throws { clock = MonotonicClock(engine: try TimerEngine(.init(time: time.base))) }

    /// Runs `body` in a detached task, so that it is in none of the test runner's task groups. Returns what it appends.
    private func detached(_ body: @escaping @Sendable (Recorder<Bool>) async -> Void) async -> [Bool] {
        let seen = Recorder<Bool>()
        await Task.detached { await body(seen) }.value
        return seen.all
    }

    /// How a task is cancelled that works in a group's body.
    enum Shutdown: CaseIterable {
        case group, discardingGroup, thrownError, parent, asyncLet, grandparent

        /// Runs `work` in a child task, and passes it a function that cancels the child.
        func run(_ work: @escaping @Sendable (_ shutDown: @escaping @Sendable () async -> Void) async -> Void) async {
            let parent = withUnsafeCurrentTask { Parent(task: $0!) }
            let (requested, done) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
            /// Has the group's body shut the group down.
            @Sendable func askBody() async {
                requested.continuation.finish()
                // In another task, since this one is cancelled and would not wait.
                await Task.detached { for await _ in done.stream {} }.value
            }
            switch self {
            case .group:
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await work(askBody) }
                    for await _ in requested.stream {}
                    group.cancelAll()
                    done.continuation.finish()
                }
            case .discardingGroup:
                await withDiscardingTaskGroup { group in
                    group.addTask { await work(askBody) }
                    for await _ in requested.stream {}
                    group.cancelAll()
                    done.continuation.finish()
                }
            case .thrownError:
                try? await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { await work(askBody) }
                    group.addTask {
                        let endless = AsyncStream<Never> { _ in }
                        for await _ in endless {}
                        done.continuation.finish()
                    }
                    for await _ in requested.stream {}
                    throw CancellationError()
                }
            case .parent:
                await withTaskGroup(of: Void.self) { group in group.addTask { await work { parent.task.cancel() } } }
            case .asyncLet:
                async let done: Void = work { parent.task.cancel() }
                await done
            case .grandparent:
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        async let done: Void = withTaskGroup(of: Void.self) { inner in
                            inner.addTask { await work { parent.task.cancel() } }
                        }
                        await done
                    }
                }
            }
        }

        private struct Parent: @unchecked Sendable {
            // Sendable: the task waits for its children, who alone use this, and may be cancelled on any thread.
            let task: UnsafeCurrentTask
        }
    }

    @Test(
        "is cancelled when the operation ends, if it is shut down after the deadline while the operation goes on",
        arguments: Shutdown.allCases
    )
    func shutDownLate(_ shutdown: Shutdown) async {
        let wasCancelled = await detached { wasCancelled in
            await shutdown.run { shutDown in
                await withTaskGroup(of: Void.self) { group in
                    await withDeadline(in: .seconds(1), clock: clock) {
                        time.advance(by: .seconds(1))
                        wasCancelled.append(Task.isCancelled)
                        await shutDown()
                    }
                    wasCancelled.append(Task.isCancelled)
                    // It stays so, in later operations too.
                    wasCancelled.append(await withDeadline(in: .seconds(1), clock: clock) { Task.isCancelled })
                }
                wasCancelled.append(Task.isCancelled)
            }
        }
        #expect(wasCancelled == [true, true, true, true])
    }

    @Test("is not cancelled by its parent's deadline, in whose operation it was not made")
    func besideExpiredParent() async {
        let wasCancelled = await detached { wasCancelled in
            let (hasExpired, isDone) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in hasExpired.stream { break }
                    await withTaskGroup(of: Void.self) { _ in
                        await withDeadline(in: .seconds(1), clock: clock) {
                            time.advance(by: .seconds(1))
                            wasCancelled.append(Task.isCancelled)
                        }
                        wasCancelled.append(Task.isCancelled)
                    }
                    isDone.continuation.finish()
                }
                await withDeadline(in: .seconds(1), clock: clock) {
                    time.advance(by: .seconds(1))
                    wasCancelled.append(Task.isCancelled)
                    hasExpired.continuation.finish()
                    // Cancelled, but not the wait for the other task.
                    await Task.detached { for await _ in isDone.stream {} }.value
                }
                wasCancelled.append(Task.isCancelled)
            }
        }
        #expect(wasCancelled == [true, true, false, false])
    }

    /// Swift's runtime reports no second cancellation. If the task is ever cancelled here, `withDeadline` promises too little.
    @Test("forgets a cancellation by its own handle between the deadline and the operation's end")
    func cancelledLate() async {
        let wasCancelled = await detached { wasCancelled in
            await withTaskGroup(of: Void.self) { group in
                await withDeadline(in: .seconds(1), clock: clock) {
                    time.advance(by: .seconds(1))
                    withUnsafeCurrentTask { $0?.cancel() }
                }
                wasCancelled.append(Task.isCancelled)
            }
        }
        #expect(wasCancelled == [false])
    }
}
