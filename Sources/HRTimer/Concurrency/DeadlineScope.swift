#if compiler(>=6.2)
import HRTimerCore
import Synchronization

/// The operation of one `withDeadline`, in a child task of its own, which a timer cancels: once, and never after the operation
/// has returned.
class DeadlineScope: HostAlarm, @unchecked Sendable {
    // Sendable: `task` is written before the phase says running, and `waiting` before it says awaited.

    private enum Phase {
        /// The child has not begun.
        static let created = 0
        /// The deadline came before it did.
        static let expiredBefore = 1
        static let running = 2
        /// A thread is cancelling it.
        static let cancelling = 3
        /// The child would end, and waits until that thread has let go of it.
        static let awaited = 4
        static let cancelled = 5
        /// Nobody touches the child from now on.
        static let ended = 6
    }

    private let phase = Atomic(Phase.created)
    private let expired = Atomic(false)
    /// Good while the child lives, which it does up to `ended`.
    private var task: UnsafeCurrentTask?
    private var waiting: UnsafeContinuation<Void, Never>?
    /// The scope that the task was in which made this one, and whether it was that scope's own task.
    let outer: DeadlineScope?
    private let isWithinOuter: Bool

    fileprivate init(within outer: DeadlineScope?) {
        self.outer = outer
        isWithinOuter = outer?.isOfCurrentTask ?? false
        super.init()
    }

    /// The child, first of all.
    final func begin() {
        task = withUnsafeCurrentTask { $0 }
        if advance(from: Phase.created, to: Phase.running) { return }
        task?.cancel()
        phase.store(Phase.cancelled, ordering: .releasing)
    }

    /// The child, when the operation has returned.
    final func end(isolation: isolated (any Actor)? = #isolation) async {
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

    /// The deadline has come: runs the cancellation handlers of the operation on the calling thread. Any thread, any time.
    final func expire() {
        if advance(from: Phase.created, to: Phase.expiredBefore) { return expired.store(true, ordering: .releasing) }
        guard advance(from: Phase.running, to: Phase.cancelling) else { return }
        expired.store(true, ordering: .releasing)
        task?.cancel()
        if advance(from: Phase.cancelling, to: Phase.cancelled) { return }
        let child = waiting
        phase.store(Phase.cancelled, ordering: .releasing)
        child?.resume()
    }

    private func advance(from: Int, to: Int) -> Bool {
        phase.compareExchange(expected: from, desired: to, ordering: .acquiringAndReleasing).exchanged
    }

    override final func ring() { expire() }

    /// Who keeps the deadline; nil if `sleepUntilDeadline` has to.
    func keepTime() -> KeptTime? { nil }

    func sleepUntilDeadline() async throws {}

    /// A deadline that nobody keeps any more counts as come, as a sleep is cancelled then.
    override final func hostHasEnded() { expire() }

    /// Whether the operation has returned.
    final var hasEnded: Bool { phase.load(ordering: .acquiring) == Phase.ended }
    /// Whether the deadline came before that.
    final var hasExpired: Bool { expired.load(ordering: .acquiring) }

    /// The scope that the calling task is in, or was when it was made.
    @TaskLocal static var innermost: DeadlineScope?

    /// Whether the calling task runs the operation itself. A task made by `Task {}` has its maker's task-local values too, but
    /// nobody cancels it.
    private var isOfCurrentTask: Bool {
        let phase = phase.load(ordering: .acquiring)
        guard phase >= Phase.running, phase < Phase.ended else { return false }
        return withUnsafeCurrentTask { $0 == task }
    }

    /// The earliest deadline on that clock of all scopes around, and whether it cancels the calling task for certain.
    static func nearest<C: Clock & Identifiable>(_ clock: C) -> (deadline: C.Instant, cancelsCaller: Bool)? {
        guard let innermost else { return nil }
        var nearest: (deadline: C.Instant, cancelsCaller: Bool)?
        var isWithin = innermost.isOfCurrentTask
        var next: DeadlineScope? = innermost
        while let scope = next {
            if !scope.hasEnded, let same = scope as? ClockDeadlineScope<C>, same.clock.id == clock.id,
                nearest.map({ same.deadline < $0.deadline }) ?? true
            {
                nearest = (same.deadline, isWithin)
            }
            isWithin = isWithin && scope.isWithinOuter
            next = scope.outer
        }
        return nearest
    }

    /// Whether any scope is around that has not ended.
    static var isAnyActive: Bool {
        var next = innermost
        while let scope = next {
            if !scope.hasEnded { return true }
            next = scope.outer
        }
        return false
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
        super.init(within: DeadlineScope.innermost)
    }

    override func keepTime() -> KeptTime? {
        // By far the most frequent, and cheap to tell.
        if let clock = clock as? MonotonicClock, let deadline = deadline as? MonotonicInstant {
            return KeptTime(clock.host, clock.wish(deadline, tolerance as? Duration))
        }
        guard let clock = clock as? any EngineTimedClock, let wish = clock.wish(deadline, tolerance) else { return nil }
        return KeptTime(clock.host, wish)
    }

    override func sleepUntilDeadline() async throws {
        try await clock.sleep(until: deadline, tolerance: tolerance)
    }
}

extension DeadlineScope {
    /// For an operation with that deadline; nil if one around it is earlier, and cancels it too.
    static func make<C: Clock & Identifiable>(
        _ deadline: C.Instant,
        _ tolerance: C.Instant.Duration?,
        _ clock: C
    ) -> DeadlineScope? {
        if innermost != nil, let nearest = nearest(clock), nearest.cancelsCaller, nearest.deadline <= deadline {
            return nil
        }
        let scope = ClockDeadlineScope(clock, deadline, tolerance)
        if clock.now >= deadline { scope.expire() }
        return scope
    }

    /// Runs the operation in a child task, which is cancelled at the deadline, and waits for its end.
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

/// Knows nothing of the types of clocks and results.
extension DeadlineScope {
    fileprivate typealias Work = nonisolated(nonsending) () async -> Void

    /// What the child runs.
    private struct Sent: @unchecked Sendable {
        // Sendable: the child runs where its parent does, to which all of it belongs, and the parent waits meanwhile.
        let work: Work
    }

    fileprivate final func run(isolation: isolated (any Actor)?, _ work: Work) async {
        // The child has ended before this returns.
        await withoutActuallyEscaping(work) { work in
            _ = isolation
            await run(Sent(work: work), isolation: isolation)
        }
    }

    /// The child starts on the calling thread, where its parent belongs too: an operation that does not suspend has returned
    /// before anybody thinks of a timer.
    private func run(_ sent: Sent, isolation: isolated (any Actor)?) async {
        await withTaskGroup(of: Void.self, isolation: isolation) { group in
            group.addImmediateTask {
                // Captured, the child is isolated as its parent is.
                _ = isolation
                await self.perform(sent, isolation: isolation)
            }
            if hasEnded || hasExpired {
                await group.next()
            } else if let time = keepTime() {
                let alarm = time.request.map { arm($0, on: time.host) }
                await group.next()
                if let alarm { time.host.disarm(alarm) }
            } else {
                group.addTask { [self] in
                    try? await sleepUntilDeadline()
                    if !Task.isCancelled { expire() }
                }
                while !hasEnded { await group.next() }
                group.cancelAll()
            }
        }
    }

    private func perform(_ sent: Sent, isolation: isolated (any Actor)?) async {
        begin()
        await Self.$innermost.withValue(self) {
            // As above.
            _ = isolation
            await sent.work()
        }
        await end()
    }
}

/// Who keeps a deadline: a timer of ours takes the place of a sleep.
struct KeptTime {
    let host: TimerHost
    /// Nil for a deadline that never comes.
    let request: HostAlarm.Request?

    init(_ host: TimerHost, _ wish: Sleeper.Wish) {
        self.host = host
        request = wish.deadline_ns == .max ? nil : wish.request(from: host.time.now_ns)
    }
}

/// A clock whose sleeps our hosts fire, or could.
protocol EngineTimedClock {
    var host: TimerHost { get }
    /// Nil if the instant is not the clock's.
    func wish(_ deadline: Any, _ tolerance: Any?) -> Sleeper.Wish?
}

extension EngineClock: EngineTimedClock {
    func wish(_ deadline: Any, _ tolerance: Any?) -> Sleeper.Wish? {
        (deadline as? Instant).map { Sleeper.Wish(until: $0.nanoseconds, tolerance: tolerance as? Duration) }
    }
}
#endif
