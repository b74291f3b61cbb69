// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore
import Synchronization

/// The operation of one `withDeadline`. A timer cancels it at most once, and never after the operation has returned.
///
/// The operation runs in a child task. In the body of a task group, which it may have captured, it runs in its caller's
/// task. See `run(isolation:_:)`.
@safe class DeadlineScope: HostAlarm, Expiring, @unchecked Sendable {
    // Sendable: the variables are written before the phase becomes running, and `waiting` before it becomes awaited. Safe: no other thread
    // uses the tasks or the part from the phase `ended` on, which this one waits for, and who ends `awaited` resumes `waiting`, once.

    private enum Phase {
        /// The operation has not begun.
        static let created = 0
        /// The deadline passed before the operation began.
        static let expiredBefore = 1
        static let running = 2
        /// A thread is cancelling the operation.
        static let cancelling = 3
        /// The operation has returned, and waits until the cancelling thread no longer uses its task.
        static let awaited = 4
        static let cancelled = 5
        /// No other thread uses the task from now on.
        static let ended = 6
    }

    private let phase = Atomic(Phase.created)
    private let expired = Atomic(false)
    /// The task that the operation runs in. Valid until the phase is `ended`.
    @safe private var task: UnsafeCurrentTask?
    /// The task that waits for the operation, if the operation runs in another one.
    @safe private var caller: UnsafeCurrentTask?
    /// The cancellation scope in the caller's task, if the operation runs there.
    private var part: TaskPart?
    @safe private var waiting: UnsafeContinuation<Void, Never>?
    /// Whether the operation's task was cancelled as a whole, from inside and before its deadline. If so, the caller's task
    /// is cancelled, too, when the operation ends.
    private let isCancelledInside = Atomic(false)
    /// The time base on which the deadline comes.
    private var time = TimeBase.kernel
    /// The address of the task's `innermost` for this scope. Child tasks have the same address.
    @safe private var home: UnsafeRawPointer?
    /// The enclosing scope, if it cancels the task that made this one.
    let outer: DeadlineScope?

    fileprivate init(within outer: DeadlineScope?) {
        self.outer = outer
    }

    private func advance(from: Int, to: Int) -> Bool {
        phase.compareExchange(expected: from, desired: to, ordering: .acquiringAndReleasing).exchanged
    }

    /// Returns the host and the request of the deadline's timer; nil if a task must sleep by `sleepUntilDeadline` instead.
    func keepTime() -> KeptTime? { nil }

    func sleepUntilDeadline() async throws {}

    final func deadlineHasCome() { expireElsewhere() }

    /// If the host drops the timer, the deadline counts as passed, just as a sleep is cancelled then.
    final func coreHasEnded() { expireElsewhere() }

    /// Whether the operation has returned.
    final var hasEnded: Bool { phase.load(ordering: .acquiring) == Phase.ended }
    /// Whether the deadline passed before the operation returned.
    final var hasExpired: Bool { expired.load(ordering: .acquiring) }
}

// The expiry of the deadline.
extension DeadlineScope {
    /// Expires the scope on a thread for cancellation handlers: users' handlers must run neither on engines or loops nor in
    /// Swift's pool. In virtual time the calling thread expires it.
    fileprivate final func expireElsewhere() {
        if hasEnded { return }
        time.apart({ CancellationThreads.shared.expire(self) }, orHere: expire)
    }

    /// Cancels the operation, and runs its cancellation handlers on the calling thread. Any thread, any time.
    final func expire() {
        if advance(from: Phase.created, to: Phase.expiredBefore) { return expired.store(true, ordering: .releasing) }
        guard advance(from: Phase.running, to: Phase.cancelling) else { return }
        expired.store(true, ordering: .sequentiallyConsistent)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        cancel()
        if advance(from: Phase.cancelling, to: Phase.cancelled) { return }
        let operation = waiting
        phase.store(Phase.cancelled, ordering: .releasing)
        unsafe operation?.resume()
    }

    private func cancel() {
        if let part { part.cancel() } else { unsafe task?.cancel() }
    }
}

// The functions that run in the operation's task, before and after the operation.
extension DeadlineScope {
    /// Begins the operation. `part` is given if the operation runs in the caller's task.
    private final func begin(_ part: TaskPart? = nil) {
        task = unsafe withUnsafeCurrentTask { unsafe $0 }
        self.part = part
        part?.enter()
        if advance(from: Phase.created, to: Phase.running) { return }
        // The thread that set the phase may not have stored `expired` yet.
        expired.store(true, ordering: .releasing)
        cancel()
        phase.store(Phase.cancelled, ordering: .releasing)
    }

    private final func end(isolation: isolated (any Actor)? = #isolation) async {
        while true {
            if advance(from: Phase.running, to: Phase.ended) || advance(from: Phase.cancelled, to: Phase.ended) {
                return
            }
            await unsafe withUnsafeContinuation { continuation in
                waiting = unsafe continuation
                if !advance(from: Phase.cancelling, to: Phase.awaited) { unsafe continuation.resume() }
            }
        }
    }

    /// Cancels the caller's task if the operation was cancelled from inside. Runs in the caller's task, after the operation.
    /// Also notifies an enclosing scope whose operation is the caller's task: if that scope's deadline has passed by now,
    /// the runtime ignores this second cancellation.
    private func handOnCancellation() {
        guard isCancelledInside.load(ordering: .acquiring) else { return }
        unsafe withUnsafeCurrentTask { current in
            unsafe current?.cancel()
            if let outer, unsafe outer.task == current { outer.isCancelledInside.store(true, ordering: .releasing) }
        }
    }

    /// Repeats cancellations by enclosing scopes, by parents of the calling task, and by groups that it is in: while this scope
    /// had cancelled the task, they had no effect. One by the task's own handle is lost, since the runtime leaves no trace of it.
    private func cancelForOthers() {
        var outermost: DeadlineScope?
        var isAll = false
        var next = outer
        while let scope = next {
            if unsafe scope.task == task, scope.hasExpired { outermost = scope }
            let isParentCancelled = unsafe scope.task != task && scope.task?.isCancelled ?? false
            if isParentCancelled || scope.caller?.isCancelled ?? false { isAll = true }
            next = scope.outer
        }
        if isAll || TaskScope.isCancelledAround { unsafe task?.cancel() } else { outermost?.cancel() }
    }

    fileprivate typealias Work = nonisolated(nonsending) () async -> Void

    /// Runs the work in the operation's task. Everything that begins there has this scope as its innermost one.
    private final func perform(_ work: Work, isolation: isolated (any Actor)?) async {
        await Self.$innermost.withValue(self) {
            // Captured, so that the closure is isolated as this function is.
            _ = isolation
            home = Self.place
            await work()
        }
        await end()
    }

    /// Runs the operation, and waits for its end. At the deadline its child task is cancelled. In the body of a task group
    /// there is no child task: a task that the operation adds to that group has the present task as its parent, which must
    /// outlive it. There, only a part of the present task is cancelled.
    fileprivate final func run(isolation: isolated (any Actor)?, _ work: Work) async {
        guard let time = keepTime() else { return await runSleeping(isolation: isolation, work) }
        self.time = time.host.time
        let isInGroup = TaskScope.isInGroup
        // Before the operation begins: it may compute or block, and then no other thread would arm the timer.
        let alarm = hasExpired ? nil : time.request.map { time.host.arm(self, $0) }
        if isInGroup {
            await runInPart(isolation: isolation, work)
        } else {
            await runInChild(isolation: isolation, work)
        }
        if let alarm { time.host.disarm(alarm) }
    }

    private final func runInPart(isolation: isolated (any Actor)?, _ work: Work) async {
        guard TaskScope.cancelsParts else { return await runInWhole(isolation: isolation, work) }
        let part = TaskPart()
        defer { part.free() }
        begin(part)
        if !part.isKnown { TaskScope.reportUnknownParts() }
        await perform(work, isolation: isolation)
        if part.leave() {
            await TaskScope.learnParents(isolation: isolation)
            cancelForOthers()
        }
        handOnCancellation()
    }

    /// Runs the operation in the calling task, all of which the deadline cancels.
    private final func runInWhole(isolation: isolated (any Actor)?, _ work: Work) async {
        if TaskScope.knowsTasks { TaskScope.reportUnknownParts() } else { TaskScope.reportUnknownTasks() }
        begin()
        await perform(work, isolation: isolation)
        handOnCancellation()
    }

    /// Runs the operation under a deadline on a clock without a host.
    private final func runSleeping(isolation: isolated (any Actor)?, _ work: Work) async {
        time = .current
        let isInGroup = TaskScope.isInGroup
        // Isolated to no actor, since the operation may block its own actor. A closure in the group's body crashes the
        // compiler (Swift 6.3).
        let sleep: @Sendable () async -> Void = { [self] in
            try? await sleepUntilDeadline()
            if !Task.isCancelled { expireElsewhere() }
        }
        await withTaskGroup(of: Void.self, isolation: isolation) { group in
            if !hasExpired { group.addImmediateTask(operation: sleep) }
            if isInGroup {
                await runInPart(isolation: isolation, work)
            } else {
                await runInChild(isolation: isolation, work)
            }
            group.cancelAll()
        }
    }

    /// The work of the child task.
    private struct Sent: @unchecked Sendable {
        // Sendable: the child runs where its parent does. The parent owns all of this, and waits meanwhile.
        let work: Work
    }

    private final func runInChild(isolation: isolated (any Actor)?, _ work: Work) async {
        caller = unsafe withUnsafeCurrentTask { unsafe $0 }
        // The child has ended before this returns.
        await withoutActuallyEscaping(work) { work in
            _ = isolation
            await runInChild(isolation: isolation, Sent(work: work))
        }
    }

    private func runInChild(isolation: isolated (any Actor)?, _ sent: Sent) async {
        let name = Task.name
        // Up to Swift 6.3 a child that begins immediately and has a name does not inherit its parent's preferred executor.
        let executor = name == nil ? nil : TaskScope.preferredExecutor
        await withTaskGroup(of: Void.self, isolation: isolation) { group in
            group.addImmediateTask(name: name, executorPreference: executor) {
                // Captured, so that the child is isolated as its parent is.
                _ = isolation
                self.begin()
                await withTaskCancellationHandler {
                    await self.perform(sent.work, isolation: isolation)
                } onCancel: {
                    // A cancellation of the caller, which has reached this child, does not count.
                    let isInside = !self.hasExpired && self.caller?.isCancelled == false
                    if isInside { self.isCancelledInside.store(true, ordering: .releasing) }
                }
            }
            await group.next()
        }
        handOnCancellation()
    }
}

// The deadlines that the calling code is under.
extension DeadlineScope {
    /// The scope that the calling task is in, or that the calling task's maker was in when it made the task.
    @TaskLocal static var innermost: DeadlineScope?

    /// The address of the value of `innermost` for the calling task; nil if it has none. Safe: only compared.
    @safe private static var place: UnsafeRawPointer? {
        TaskScope.place(of: $innermost)
    }

    /// The innermost scope that cancels the calling task. A task made by `Task {}` has a copy of its maker's task-local
    /// values, but no deadline cancels it.
    static var current: DeadlineScope? {
        guard let scope = innermost, TaskScope.knowsTasks, unsafe scope.home == place, !scope.hasEnded else {
            return nil
        }
        return scope
    }

    /// Returns the earliest deadline on `clock` of all enclosing scopes; nil if there is none.
    static func nearest<C: Clock & Identifiable>(_ clock: C) -> C.Instant? {
        var nearest: C.Instant?
        var next = current
        while let scope = next {
            if let same = scope as? ClockDeadlineScope<C>, same.clock.id == clock.id,
                nearest.map({ same.deadline < $0 }) ?? true
            {
                nearest = same.deadline
            }
            next = scope.outer
        }
        return nearest
    }

    /// Returns a scope for an operation with that deadline; nil if an enclosing deadline on `clock` is no later, and cancels
    /// the operation too.
    static func make<C: Clock & Identifiable>(
        _ deadline: C.Instant,
        _ tolerance: C.Instant.Duration?,
        _ clock: C
    ) -> DeadlineScope? {
        if let nearest = nearest(clock), nearest <= deadline { return nil }
        let scope = ClockDeadlineScope(clock, deadline, tolerance)
        if clock.now >= deadline { scope.expire() }
        return scope
    }

    /// Runs the operation, cancels it at the deadline, and waits for its end.
    ///
    /// Not generic over the clock too: the compiler does not specialise code that is generic over several types for a single
    /// one of them.
    nonisolated(nonsending) final func bound<Return: ~Copyable, Failure: Error>(
        _ operation: nonisolated(nonsending) () async throws(Failure) -> Return
    ) async throws(Failure) -> Return {
        // Safe: initialized unless there is a failure.
        let value = UnsafeMutablePointer<Return>.allocate(capacity: 1)
        defer { unsafe value.deallocate() }
        // Not an optional Failure: its type would have to be looked up each time.
        var failure: (any Error)?
        await run(isolation: #isolation) {
            do throws(Failure) {
                unsafe value.initialize(to: try await operation())
            } catch {
                failure = error
            }
        }
        if let failure = failure as? Failure { throw failure }
        return unsafe value.move()
    }
}

/// A scope with a deadline on a clock.
final class ClockDeadlineScope<C: Clock & Identifiable>: DeadlineScope, @unchecked Sendable {
    // Sendable: its own members are constant.

    let clock: C
    let deadline: C.Instant
    private let tolerance: C.Instant.Duration?

    init(_ clock: C, _ deadline: C.Instant, _ tolerance: C.Instant.Duration?) {
        self.clock = clock
        self.deadline = deadline
        self.tolerance = tolerance
        super.init(within: DeadlineScope.current)
    }

    override func keepTime() -> KeptTime? {
        // Checked first: by far the most frequent clock, and cheap to check.
        if let clock = clock as? MonotonicClock, let deadline = deadline as? MonotonicInstant {
            return KeptTime(clock.host, clock.plan(deadline, tolerance as? Duration))
        }
        guard let clock = clock as? any EngineTimedClock, let plan = clock.plan(deadline, tolerance) else { return nil }
        return KeptTime(clock.host, plan)
    }

    override func sleepUntilDeadline() async throws {
        try await clock.sleep(until: deadline, tolerance: tolerance)
    }
}
#endif
