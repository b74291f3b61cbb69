// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
package import NextConcurrency
import Synchronization

/// HRTimerExecutors' default executor on the interface that may follow: libdispatch's pool, with sleeps that are timers of two engines.
/// A cancelled sleep frees its timer at once, which SchedulingExecutor cannot do.
package final class ClockExecutor: TaskExecutor, ContinuousClockExecutor, SuspendingClockExecutor {
    private let monotonic: TimerEngine
    private let bootTime: BootTimeTimerEngine
    private let pending = Mutex(Pending())

    /// What waits for an instant.
    private enum Work: ~Copyable {
        case continuation(ExecutorContinuation<Void, CancellationError>)
        case job(UnownedJob)
    }

    private final class Operation: Sendable {
        private let work: Mutex<Work?>

        init(_ work: consuming sending Work) { self.work = Mutex(work) }

        /// Resumes the task or runs the job in the pool, once: a task that blocks must not make others late.
        func end(on executor: ClockExecutor, isCancelled: Bool) {
            DispatchQueue.global().async {
                switch self.work.withLock({ $0.take() }) {
                case .continuation(let continuation):
                    if isCancelled {
                        continuation.resumeSynchronously(throwing: CancellationError())
                    } else {
                        continuation.resumeSynchronously(returning: ())
                    }
                case .job(let job): job.runSynchronously(on: executor.asUnownedTaskExecutor())
                case nil: break
                }
            }
        }
    }

    private struct Pending {
        var last: UInt64 = 0
        var operations: [OperationExecutorRegistration: (operation: Operation, disarm: (@Sendable () -> Void)?)] = [:]
    }

    package init() throws {
        let configuration = TimerEngine.Configuration(name: "next-sleep")
        monotonic = try TimerEngine(configuration)
        bootTime = try BootTimeTimerEngine(configuration)
    }

    /// How many operations wait for their instants.
    package var pendingOperations: Int { pending.withLock { $0.operations.count } }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    package func enqueue(
        _ continuation: consuming ExecutorContinuation<Void, CancellationError>,
        at instant: ContinuousClock.Instant,
        tolerance: Duration?
    ) -> OperationExecutorRegistration {
        add(Operation(.continuation(continuation)), at: instant, tolerance)
    }

    package func enqueue(
        _ job: consuming ExecutorJob,
        at instant: ContinuousClock.Instant,
        tolerance: Duration?
    ) -> OperationExecutorRegistration {
        add(Operation(.job(UnownedJob(job))), at: instant, tolerance)
    }

    package func enqueue(
        _ continuation: consuming ExecutorContinuation<Void, CancellationError>,
        at instant: SuspendingClock.Instant,
        tolerance: Duration?
    ) -> OperationExecutorRegistration {
        add(Operation(.continuation(continuation)), at: instant, tolerance)
    }

    package func enqueue(
        _ job: consuming ExecutorJob,
        at instant: SuspendingClock.Instant,
        tolerance: Duration?
    ) -> OperationExecutorRegistration {
        add(Operation(.job(UnownedJob(job))), at: instant, tolerance)
    }

    /// Ends the operation's wait. A job is not a wait: it runs now.
    package func cancel(_ registration: OperationExecutorRegistration) {
        guard let (operation, disarm) = pending.withLock({ $0.operations.removeValue(forKey: registration) }) else {
            return
        }
        disarm?()
        operation.end(on: self, isCancelled: true)
    }

    /// Does nothing: a timer has no priority, and the task that it resumes has its own.
    package func escalatePriority(of registration: OperationExecutorRegistration, to newPriority: TaskPriority) {}

    private func add(_ operation: Operation, at instant: ContinuousClock.Instant, _ tolerance: Duration?)
        -> OperationExecutorRegistration
    {
        let deadline = BootTimeInstant(
            nanoseconds: ContinuousClock().systemEpoch.duration(to: instant).nanosecondsRoundedUp
        )
        return add(operation) { [bootTime] fire in
            let token = bootTime.schedule(at: deadline, tolerance: tolerance ?? .zero) { _ in fire() }
            return { bootTime.cancel(token) }
        }
    }

    private func add(_ operation: Operation, at instant: SuspendingClock.Instant, _ tolerance: Duration?)
        -> OperationExecutorRegistration
    {
        let deadline = MonotonicInstant(
            nanoseconds: SuspendingClock().systemEpoch.duration(to: instant).nanosecondsRoundedUp
        )
        return add(operation) { [monotonic] fire in
            let token = monotonic.schedule(at: deadline, tolerance: tolerance ?? .zero) { _ in fire() }
            return { monotonic.cancel(token) }
        }
    }

    private func add(
        _ operation: Operation,
        arm: (@escaping @Sendable () -> Void) -> @Sendable () -> Void
    ) -> OperationExecutorRegistration {
        let registration = pending.withLock { pending in
            pending.last += 1
            let registration = OperationExecutorRegistration(id: pending.last)
            pending.operations[registration] = (operation, nil)
            return registration
        }
        let disarm = arm { [weak self] in
            guard let self else { return }
            let isPending = pending.withLock { $0.operations.removeValue(forKey: registration) != nil }
            if isPending { operation.end(on: self, isCancelled: false) }
        }
        // It may have fired by now.
        pending.withLock { $0.operations[registration]?.disarm = disarm }
        return registration
    }
}

extension Duration {
    fileprivate var nanosecondsRoundedUp: Int64 {
        let (seconds, attoseconds) = components
        let (nanoseconds, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return seconds * 1_000_000_000 + nanoseconds + (rest > 0 ? 1 : 0)
    }
}
