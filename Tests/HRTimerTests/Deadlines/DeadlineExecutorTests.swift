// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import TestTraits
import Testing

/// Tests of where operations with a deadline run: on their caller's preferred executor, from the first instruction to the last.
/// On frozen time, and on a deadline that does not come.
@Suite("Operations with deadlines", .hangLimit)
struct DeadlineExecutorTests {
    /// Runs jobs on a queue, which it recognizes.
    private final class QueueExecutor: TaskExecutor {
        private let queue = DispatchQueue(label: "preferred")
        private let key = DispatchSpecificKey<Bool>()

        init() { queue.setSpecific(key: key, value: true) }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }

        var isCurrent: Bool { DispatchQueue.getSpecific(key: key) ?? false }
    }

    /// Calls an operation with a deadline, in one of the ways.
    enum Way: CaseIterable {
        case deadline, timeout, nested, foreignClock, inGroup, foreignInGroup, inChild

        func run(_ clock: MonotonicClock, _ work: @escaping @Sendable () async -> Void) async {
            let hour = Duration.seconds(3600)
            switch self {
            case .deadline: await withDeadline(in: hour, clock: clock) { await work() }
            case .timeout: try? await withTimeout(hour, clock: clock) { await work() }
            case .nested:
                await withDeadline(in: hour, clock: clock) {
                    await withDeadline(in: hour / 2, clock: clock) { await work() }
                }
            case .foreignClock: await withDeadline(in: hour, clock: ForeignClock(base: clock)) { await work() }
            case .inGroup:
                await withTaskGroup(of: Void.self) { _ in await withDeadline(in: hour, clock: clock) { await work() } }
            case .foreignInGroup:
                await withTaskGroup(of: Void.self) { _ in
                    await withDeadline(in: hour, clock: ForeignClock(base: clock)) { await work() }
                }
            case .inChild:
                await withTaskGroup(of: Void.self) { group in
                    group.addTask(name: Task.name) { await withDeadline(in: hour, clock: clock) { await work() } }
                    await group.next()
                }
            }
        }
    }

    private actor Other {
        func visit() {}
    }

    @Test(
        "stay on their caller's preferred executor after each suspension, and have its name, be it named or not",
        arguments: Way.allCases,
        [nil, "caller"] as [String?]
    )
    func staysPreferred(_ way: Way, name: String?) async throws {
        let clock = MonotonicClock(engine: try TimerEngine(.init(time: ManualTime().base)))
        let executor = QueueExecutor()
        let wasCurrent = Recorder<Bool>()
        let names = Recorder<String?>()
        let other = Other()
        await Task(name: name, executorPreference: executor) {
            await way.run(clock) {
                wasCurrent.append(executor.isCurrent)
                await Task.yield()
                wasCurrent.append(executor.isCurrent)
                await other.visit()
                wasCurrent.append(executor.isCurrent)
                async let child = executor.isCurrent
                wasCurrent.append(await child)
                names.append(Task.name)
            }
            wasCurrent.append(executor.isCurrent)
        }.value
        #expect(wasCurrent.all == [true, true, true, true, true])
        #expect(names.all == [name])
    }

    @Test(
        "follow the innermost preference around the call, and a preference inside of them counts there",
        arguments: Way.allCases
    )
    func innermost(_ way: Way) async throws {
        let clock = MonotonicClock(engine: try TimerEngine(.init(time: ManualTime().base)))
        let (outer, middle, inner) = (QueueExecutor(), QueueExecutor(), QueueExecutor())
        let wasCurrent = Recorder<Bool>()
        await Task(name: "caller", executorPreference: outer) {
            await withTaskExecutorPreference(middle) {
                await way.run(clock) {
                    await Task.yield()
                    wasCurrent.append(middle.isCurrent)
                    await withTaskExecutorPreference(inner) {
                        await Task.yield()
                        wasCurrent.append(inner.isCurrent)
                    }
                    await Task.yield()
                    wasCurrent.append(middle.isCurrent)
                }
            }
            await Task.yield()
            wasCurrent.append(outer.isCurrent)
        }.value
        #expect(wasCurrent.all == [true, true, true, true])
    }

    @Test("begin at once on a TimerExecutor's thread, before anything that was enqueued there", arguments: Way.allCases)
    func beginsAtOnce(_ way: Way) async throws {
        let time = ManualTime()
        let engine = try TimerEngine(.init(time: time.base))
        let clock = MonotonicClock(engine: engine)
        let executor = TimerExecutor(engine: engine)
        let order = Recorder<String>()
        let task = Task(name: "caller", executorPreference: executor) {
            if way != .inChild { Task(executorPreference: executor) { order.append("other") } }
            await way.run(clock) {
                order.append("begun \(executor.isCurrent)")
                await Task.yield()
                order.append("goes on \(executor.isCurrent)")
            }
            if way == .inChild { order.append("other") }
        }
        await time.run(until: task)
        #expect(order.all.first == "begun true")
        #expect(order.all.contains("goes on true"))
    }
}
