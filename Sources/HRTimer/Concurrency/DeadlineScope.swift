#if compiler(>=6.2)
import CTaskScope
import HRTimerCore
import Synchronization

/// The operation of one `withDeadline`, which a timer cancels: once, and never after the operation has returned.
///
/// It has a child task of its own; in the body of a task group, where the operation may have captured the group, it stays in its
/// caller's task. See `run(isolation:_:)`.
class DeadlineScope: HostAlarm, @unchecked Sendable {
    // Sendable: what changes is written before the phase says running, and `waiting` before it says awaited.

    private enum Phase {
        /// The operation has not begun.
        static let created = 0
        /// The deadline came before it did.
        static let expiredBefore = 1
        static let running = 2
        /// A thread is cancelling it.
        static let cancelling = 3
        /// The operation has returned, and waits until that thread has let go of its task.
        static let awaited = 4
        static let cancelled = 5
        /// Nobody touches the task from now on.
        static let ended = 6
    }

    private let phase = Atomic(Phase.created)
    private let expired = Atomic(false)
    /// The one that the operation runs in. Good up to `ended`.
    private var task: UnsafeCurrentTask?
    /// The one that waits for that, if it is another one.
    private var caller: UnsafeCurrentTask?
    /// Its part of the task, if that is the caller's.
    private var part: UnsafeMutablePointer<cts_scope>?
    private var waiting: UnsafeContinuation<Void, Never>?
    /// The operation's task was cancelled from inside, as a whole, before its deadline came: so is the caller's, when it ends.
    private let isCancelledInside = Atomic(false)
    /// Where its deadline comes.
    private var time = TimeBase.kernel
    /// Where the task has its `innermost` of this scope, which its child tasks see there too.
    private var home: UnsafeRawPointer?
    /// The scope around, if it cancels the task which made this one.
    let outer: DeadlineScope?

    fileprivate init(within outer: DeadlineScope?) {
        self.outer = outer
        super.init()
    }

    private func advance(from: Int, to: Int) -> Bool {
        phase.compareExchange(expected: from, desired: to, ordering: .acquiringAndReleasing).exchanged
    }

    /// Who keeps the deadline; nil if `sleepUntilDeadline` has to.
    func keepTime() -> KeptTime? { nil }

    func sleepUntilDeadline() async throws {}

    override final func deadlineHasCome() { expireElsewhere() }

    /// A deadline that nobody keeps any more counts as come, as a sleep is cancelled then.
    override final func hostHasEnded() { expireElsewhere() }

    /// Whether the operation has returned.
    final var hasEnded: Bool { phase.load(ordering: .acquiring) == Phase.ended }
    /// Whether the deadline came before that.
    final var hasExpired: Bool { expired.load(ordering: .acquiring) }
}

// The deadline comes.
extension DeadlineScope {
    /// Neither engines and loops nor Swift's pool run what a user's handler does.
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

// What the operation's task does, before and after it.
extension DeadlineScope {
    /// `part` if the task is the caller's.
    private final func begin(_ part: UnsafeMutablePointer<cts_scope>? = nil) {
        task = withUnsafeCurrentTask { $0 }
        self.part = part
        if let part { cts_enter(part) }
        if advance(from: Phase.created, to: Phase.running) { return }
        // The thread that found this may not have stored it yet.
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

    /// The caller's task, after the operation. The scope whose operation is the caller's task is notified, too: where
    /// its deadline has come by now, the runtime takes no second cancellation.
    private func handOnCancellation() {
        guard isCancelledInside.load(ordering: .acquiring) else { return }
        withUnsafeCurrentTask { current in
            current?.cancel()
            if let outer, outer.task == current { outer.isCancelledInside.store(true, ordering: .releasing) }
        }
    }

    /// While a scope had cancelled the calling task, others around it may have been to do so, in vain.
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

    /// The operation's task. All that is begun there sees the scope as its innermost one.
    private final func perform(_ work: Work, isolation: isolated (any Actor)?) async {
        await Self.$innermost.withValue(self) {
            // Captured, the closure is isolated as this function is.
            _ = isolation
            home = Self.place
            await work()
        }
        await end()
    }

    /// Runs the operation, and waits for its end. A child task of its own is what is cancelled at the deadline. Not so in the
    /// body of a task group: what the operation adds to that group has the present task for its parent, which has to outlive it.
    /// There it is a part of the task that is cancelled.
    fileprivate final func run(isolation: isolated (any Actor)?, _ work: Work) async {
        guard let time = keepTime() else { return await runSleeping(isolation: isolation, work) }
        self.time = time.host.time
        let isInGroup = cts_is_in_group()
        // Before the operation begins: it may compute, or block, and nobody else would do it then.
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

    /// On a clock that no host keeps.
    private final func runSleeping(isolation: isolated (any Actor)?, _ work: Work) async {
        time = .current
        let isInGroup = cts_is_in_group()
        // Of no actor: the operation may block its own. A closure in the group's body crashes the compiler (Swift 6.3).
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

    /// What the child runs.
    private struct Sent: @unchecked Sendable {
        // Sendable: the child runs where its parent does, to which all of it belongs, and the parent waits meanwhile.
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
                // Captured, the child is isolated as its parent is.
                _ = isolation
                self.begin()
                await withTaskCancellationHandler {
                    await self.perform(sent.work, isolation: isolation)
                } onCancel: {
                    // Not for the caller's own cancellation, which has come to this child.
                    let isInside = !self.hasExpired && self.caller?.isCancelled == false
                    if isInside { self.isCancelledInside.store(true, ordering: .releasing) }
                }
            }
            await group.next()
        }
        handOnCancellation()
    }
}

// Whose deadlines the calling code has.
extension DeadlineScope {
    /// The scope that the calling task is in, or was when it was made.
    @TaskLocal static var innermost: DeadlineScope?

    /// Where the calling task sees that.
    private static var place: UnsafeRawPointer? {
        cts_local_value(Unmanaged.passUnretained($innermost).toOpaque())
    }

    /// The innermost scope that cancels the calling task. A task made by `Task {}` has a copy of its maker's task-local values,
    /// but nobody cancels it.
    static var current: DeadlineScope? {
        guard let scope = innermost, scope.home == place, !scope.hasEnded else { return nil }
        return scope
    }

    /// The earliest deadline on that clock of all scopes around.
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

    /// For an operation with that deadline; nil if one around it is earlier, and cancels it too.
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
    /// Not generic over the clock too: code that is generic over several types is not specialised for one of them.
    nonisolated(nonsending) final func bound<Return: ~Copyable, Failure: Error>(
        _ operation: nonisolated(nonsending) () async throws(Failure) -> Return
    ) async throws(Failure) -> Return {
        let value = UnsafeMutablePointer<Return>.allocate(capacity: 1)
        defer { value.deallocate() }
        // Not an optional Failure, whose type had to be looked up each time.
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
    // Sendable: what it has of its own is constant.

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
        // By far the most frequent, and cheap to check.
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
