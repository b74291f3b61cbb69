#if os(Linux)
#if compiler(>=6.2)
import CTaskScope
import HRTimerCore
import Synchronization

/// The operation of one `withDeadline`, which a timer cancels: once, and never after the operation has returned.
///
/// The operation runs in a child task; in the body of a task group, which it may have captured, it runs in its caller's
/// task. See `run(isolation:_:)`.
/// caller's task. See `run(isolation:_:)`.
class DeadlineScope: HostAlarm, Expiring, @unchecked Sendable {
    // Sendable: the variables are written before the phase becomes running, and `waiting` before it becomes awaited.

    private enum Phase {
        /// The operation has not begun.
        static let created = 0
        /// The deadline passed before the operation began.
        static let expiredBefore = 1
        static let running = 2
        /// A thread is cancelling it.
        static let cancelling = 3
        /// The operation has returned, and waits until that thread no longer uses its task.
        static let awaited = 4
        static let cancelled = 5
        /// No other thread uses the task from now on.
        static let ended = 6
    }

    private let phase = Atomic(Phase.created)
    private let expired = Atomic(false)
    /// The task that the operation runs in. Valid up to `ended`.
    private var task: UnsafeCurrentTask?
    /// The task that waits for it, if that is another one.
    private var caller: UnsafeCurrentTask?
    /// The cancellation scope in the caller's task, if the operation runs there.
    private var part: UnsafeMutablePointer<cts_scope>?
    private var waiting: UnsafeContinuation<Void, Never>?
    /// The operation's task was cancelled as a whole, from inside and before its deadline: then the caller's task is,
    /// too, when it ends.
    private let isCancelledInside = Atomic(false)
    /// The time base on which the deadline comes.
    private var time = TimeBase.kernel
    /// The address of the task's `innermost` for this scope, which its child tasks share.
    private var home: UnsafeRawPointer?
    /// The enclosing scope, if it cancels the task which made this one.
    let outer: DeadlineScope?

    fileprivate init(within outer: DeadlineScope?) {
        self.outer = outer
        super.init()
    }

    private func advance(from: Int, to: Int) -> Bool {
        phase.compareExchange(expected: from, desired: to, ordering: .acquiringAndReleasing).exchanged
    }

    /// What has a timer for the deadline; nil if `sleepUntilDeadline` must sleep.
    func keepTime() -> KeptTime? { nil }

    func sleepUntilDeadline() async throws {}

    override final func deadlineHasCome() { expireElsewhere() }

    /// If the timer is dropped, the deadline counts as passed, as a sleep is cancelled then.
    override final func hostHasEnded() { expireElsewhere() }

    /// Whether the operation has returned.
    final var hasEnded: Bool { phase.load(ordering: .acquiring) == Phase.ended }
    /// Whether the deadline passed before that.
    final var hasExpired: Bool { expired.load(ordering: .acquiring) }
}

// The deadline passes.
extension DeadlineScope {
    /// Users' handlers must run neither on engines or loops nor in Swift's pool.
    fileprivate final func expireElsewhere() {
        if hasEnded { return }
        time.apart({ CancellationThreads.shared.expire(self) }, orHere: expire)
    }

    /// Runs the cancellation handlers of the operation on the calling thread. Any thread, any time.
    final func expire() {
        if advance(from: Phase.created, to: Phase.expiredBefore) { return expired.store(true, ordering: .releasing) }
        guard advance(from: Phase.running, to: Phase.cancelling) else { return }
        expired.store(true, ordering: .sequentiallyConsistent)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        cancel()
        if advance(from: Phase.cancelling, to: Phase.cancelled) { return }
        let operation = waiting
        phase.store(Phase.cancelled, ordering: .releasing)
        operation?.resume()
    }

    private func cancel() {
        if let part { cts_cancel(part) } else { task?.cancel() }
    }
}

// The parts that run in the operation's task, before and after it.
extension DeadlineScope {
    /// `part` if the operation runs in the caller's task.
    private final func begin(_ part: UnsafeMutablePointer<cts_scope>? = nil) {
        task = withUnsafeCurrentTask { $0 }
        self.part = part
        if let part { cts_enter(part) }
        if advance(from: Phase.created, to: Phase.running) { return }
        // The thread that set that phase may not have stored this yet.
        expired.store(true, ordering: .releasing)
        cancel()
        phase.store(Phase.cancelled, ordering: .releasing)
    }

    private final func end(isolation: isolated (any Actor)? = #isolation) async {
        while true {
            if advance(from: Phase.running, to: Phase.ended) || advance(from: Phase.cancelled, to: Phase.ended) {
                return
            }
            await withUnsafeContinuation { continuation in
                waiting = continuation
                if !advance(from: Phase.cancelling, to: Phase.awaited) { continuation.resume() }
            }
        }
    }

    /// In the caller's task, after the operation. An enclosing scope whose operation is the caller's task is notified,
    /// too: if its deadline has passed by now, the runtime ignores a second cancellation.
    private func handOnCancellation() {
        guard isCancelledInside.load(ordering: .acquiring) else { return }
        withUnsafeCurrentTask { current in
            current?.cancel()
            if let outer, outer.task == current { outer.isCancelledInside.store(true, ordering: .releasing) }
        }
    }

    /// While this scope had cancelled the calling task, cancellations by enclosing scopes had no effect: they follow
    /// now.
    private func cancelForOthers() {
        var outermost: DeadlineScope?
        var isAll = false
        var next = outer
        while let scope = next {
            if scope.task == task, scope.hasExpired { outermost = scope }
            let isParentCancelled = scope.task != task && scope.task?.isCancelled ?? false
            if isParentCancelled || scope.caller?.isCancelled ?? false { isAll = true }
            next = scope.outer
        }
        if isAll { task?.cancel() } else { outermost?.cancel() }
    }

    fileprivate typealias Work = nonisolated(nonsending) () async -> Void

    /// In the operation's task. All that begins there has this scope as its innermost one.
    private final func perform(_ work: Work, isolation: isolated (any Actor)?) async {
        await Self.$innermost.withValue(self) {
            // Captured, so that the closure is isolated as this function is.
            _ = isolation
            home = Self.place
            await work()
        }
        await end()
    }

    /// Runs the operation, and waits for its end. At the deadline its child task is cancelled. In the body of a task
    /// group there is no child task: a task that the operation adds to that group has the present task as its parent,
    /// which must outlive it. There a part of the present task is cancelled.
    fileprivate final func run(isolation: isolated (any Actor)?, _ work: Work) async {
        guard let time = keepTime() else { return await runSleeping(isolation: isolation, work) }
        self.time = time.host.time
        let isInGroup = cts_is_in_group()
        // Before the operation begins: it may compute or block, and then no other thread would do this.
        let alarm = hasExpired ? nil : time.request.map { arm($0, on: time.host) }
        if isInGroup {
            await runInPart(isolation: isolation, work)
        } else {
            await runInChild(isolation: isolation, work)
        }
        if let alarm { time.host.disarm(alarm) }
    }

    private final func runInPart(isolation: isolated (any Actor)?, _ work: Work) async {
        let part = UnsafeMutablePointer<cts_scope>.allocate(capacity: 1)
        defer { part.deallocate() }
        begin(part)
        await perform(work, isolation: isolation)
        if cts_leave(part) { cancelForOthers() }
        handOnCancellation()
    }

    /// For a clock without a host.
    private final func runSleeping(isolation: isolated (any Actor)?, _ work: Work) async {
        time = .current
        let isInGroup = cts_is_in_group()
        // Isolated to no actor, as the operation may block its own. A closure in the group's body crashes the compiler
        // (Swift 6.3).
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

    /// The child task's work.
    private struct Sent: @unchecked Sendable {
        // Sendable: the child runs where its parent does, which owns all of this and waits meanwhile.
        let work: Work
    }

    private final func runInChild(isolation: isolated (any Actor)?, _ work: Work) async {
        caller = withUnsafeCurrentTask { $0 }
        // The child has ended before this returns.
        await withoutActuallyEscaping(work) { work in
            _ = isolation
            await runInChild(isolation: isolation, Sent(work: work))
        }
    }

    private func runInChild(isolation: isolated (any Actor)?, _ sent: Sent) async {
        await withTaskGroup(of: Void.self, isolation: isolation) { group in
            group.addImmediateTask(name: Task.name) {
                // Captured, so that the child is isolated as its parent is.
                _ = isolation
                self.begin()
                await withTaskCancellationHandler {
                    await self.perform(sent.work, isolation: isolation)
                } onCancel: {
                    // Not after a cancellation of the caller, which has reached this child.
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
    /// The scope that the calling task is in, or was in when it was made.
    @TaskLocal static var innermost: DeadlineScope?

    /// The address of that value for the calling task.
    private static var place: UnsafeRawPointer? {
        cts_local_value(Unmanaged.passUnretained($innermost).toOpaque())
    }

    /// The innermost scope that cancels the calling task. A task made by `Task {}` has a copy of its maker's task-local
    /// values, but no deadline cancels it.
    static var current: DeadlineScope? {
        guard let scope = innermost, scope.home == place, !scope.hasEnded else { return nil }
        return scope
    }

    /// The earliest deadline on that clock of all enclosing scopes.
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

    /// For an operation with that deadline; nil if an enclosing one is earlier, and cancels it too.
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

    /// Runs the operation, which is cancelled at the deadline, and waits for its end.
    ///
    /// Not generic over the clock too: code that is generic over several types is not specialised for a single one of
    /// them.
    nonisolated(nonsending) final func bound<Return: ~Copyable, Failure: Error>(
        _ operation: nonisolated(nonsending) () async throws(Failure) -> Return
    ) async throws(Failure) -> Return {
        let value = UnsafeMutablePointer<Return>.allocate(capacity: 1)
        defer { value.deallocate() }
        // Not an optional Failure, whose type would have to be looked up each time.
        var failure: (any Error)?
        await run(isolation: #isolation) {
            do throws(Failure) {
                value.initialize(to: try await operation())
            } catch {
                failure = error
            }
        }
        if let failure = failure as? Failure { throw failure }
        return value.move()
    }
}

/// A scope with its deadline.
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
        // By far the most frequent clock, and cheap to check.
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
#endif
