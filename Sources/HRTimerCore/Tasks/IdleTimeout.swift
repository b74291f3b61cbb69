// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import Synchronization

/// A timeout that calls a handler when nothing has happened for a while: one object for each connection, touched at every
/// request.
///
///     let idle = IdleTimeout(.seconds(30)) { connection.close() }
///     idle.touch()                                // a request has come: thirty seconds from now
///     idle.cancel()                               // the connection is closed
///
/// `touch()` reads the clock and exchanges one word: no lock, no allocation, no system call. It does not notify the engine:
/// at the former deadline the engine reads the new one and waits for that. So each timeout period costs one wake-up at most.
///
/// The engine's thread calls the handler once each time the timeout expires, never early, and never after a `touch()` or
/// `cancel()` that returned true: the timeout orders these calls and the expiry. The timeout holds the handler and its
/// captures until `cancel()`, until the engine ends, or until the last reference to the timeout is released. All members may
/// be called from any thread, and from the handler. Handlers of one engine run one after the other.
///
/// In virtual time the engine is notified of every deadline at once.
public final class IdleTimeout: Sendable {
    private let core: IdleCore
    /// Keeps the engine running.
    private let engine: TimerEngine

    /// Creates a timeout and starts it at once; see `resume()`.
    ///
    /// Zero, negative values and NaN expire at once.
    ///
    /// On an engine that was shut down the timeout never starts: `nextDeadline` is nil.
    public init(
        _ timeout: some TimeSpan,
        engine: TimerEngine = .shared,
        handler: @escaping @Sendable () -> Void
    ) {
        self.engine = engine
        core = IdleCore(engine.core, timeout.nanosecondsOrZero, handler)
        core.register()
        _ = core.resume()
    }

    deinit {
        core.cancel()
    }

    /// Restarts the timeout.
    ///
    /// Returns true if that was before the engine's call, even if the deadline had passed. Returns false also if the timeout is
    /// suspended or cancelled.
    @discardableResult
    public func touch() -> Bool { core.touch() }

    /// Stops the timeout until `resume()`, for example while a request is handled.
    ///
    /// Returns true if it was running.
    @discardableResult
    public func suspend() -> Bool { core.suspend() }

    /// Starts the timeout from now: after `suspend()`, or again after it has expired.
    ///
    /// While the timeout runs, does the same as `touch()`. Returns false after `cancel()`, or if the engine has ended.
    @discardableResult
    public func resume() -> Bool { core.resume() }

    /// Ends the timeout for good, unlike `suspend()`, and frees the handler.
    ///
    /// Returns true if the timeout was running, so that the handler is not called.
    @discardableResult
    public func cancel() -> Bool { core.cancel() }

    /// The idle time after which the timeout expires.
    ///
    /// A new value counts from the next `touch()` or `resume()` on.
    public var timeout: Duration {
        get { .nanoseconds(core.timeout_ns.load(ordering: .relaxed)) }
        set { core.timeout_ns.store(newValue.nanosecondsRoundedUp, ordering: .relaxed) }
    }

    /// When the timeout expires; nil if it does not run: it is suspended or cancelled, or has expired.
    public var nextDeadline: MonotonicInstant? { core.deadline_ns.map(MonotonicInstant.init(nanoseconds:)) }
}

/// The part of an `IdleTimeout` that the engine holds.
private final class IdleCore: TimerOwner, @unchecked Sendable {
    // Sendable: `timer` is written before any other call, `handler` is behind a lock.

    /// The deadline while the timeout runs; otherwise the reason why it does not. The thread whose exchange succeeds
    /// decides.
    private let word: Atomic<Int64>
    private static let suspended = Int64.max
    private static let expired = Int64.min
    private static let cancelled = Int64.min + 1

    let timeout_ns: Atomic<Int64>
    private let core: EngineCore
    private var timer = TimerToken.stale
    private let handler: Locked<Callback?>

    init(_ core: EngineCore, _ timeout_ns: Int64, _ handler: @escaping @Sendable () -> Void) {
        self.core = core
        self.timeout_ns = Atomic(timeout_ns)
        self.handler = Locked(Callback(handler))
        word = Atomic(Self.suspended)
    }

    /// Registers the timer with the engine. Must be called before all other functions.
    func register() {
        var request = TimerRequest()
        request.isOwned = true
        timer = core.schedule(.owner(self), request)
        if timer == .stale { coreHasEnded() }
    }

    /// The deadline of a timeout that starts now. Never equal to one of the words that are not deadlines.
    private var next_ns: Int64 {
        let deadline_ns = core.time.now_ns.addingSaturating(timeout_ns.load(ordering: .relaxed))
        return min(max(deadline_ns, Self.cancelled + 1), Self.suspended - 1)
    }

    private static func isDeadline(_ word: Int64) -> Bool { word > cancelled && word < suspended }

    var deadline_ns: Int64? {
        let word = word.load(ordering: .acquiring)
        return Self.isDeadline(word) ? word : nil
    }

    private func exchange(_ before: inout Int64, _ after: Int64) -> Bool {
        let (isDone, now) = word.compareExchange(expected: before, desired: after, ordering: .acquiringAndReleasing)
        before = now
        return isDone
    }

    func touch() -> Bool {
        var before = word.load(ordering: .acquiring)
        while Self.isDeadline(before) {
            // The clock is read after the word: a thread that stalls in between must not exchange a later deadline, which
            // another thread has set meanwhile, for its own old one.
            let next_ns = next_ns
            guard exchange(&before, next_ns) else { continue }
            // Armed at once if it is earlier than the engine's deadline, or if the engine does not defer moves.
            if next_ns < before || !core.defersMoves { arm(next_ns) }
            return true
        }
        return false
    }

    /// Has the engine check the timeout at that instant, or before.
    private func arm(_ deadline_ns: Int64) {
        var deadline_ns = deadline_ns
        while true {
            _ = core.arm(timer, deadline_ns: deadline_ns)
            // Meanwhile a touch with a shorter timeout may have armed an earlier deadline, which this call replaced.
            guard let present_ns = self.deadline_ns, present_ns < deadline_ns else { return }
            deadline_ns = present_ns
        }
    }

    func resume() -> Bool {
        if touch() { return true }
        var before = word.load(ordering: .acquiring)
        while before != Self.cancelled {
            // Read after the word, as in `touch`.
            let next_ns = next_ns
            guard exchange(&before, next_ns) else { continue }
            arm(next_ns)
            return true
        }
        return false
    }

    func suspend() -> Bool {
        var before = word.load(ordering: .relaxed)
        while Self.isDeadline(before) {
            guard exchange(&before, Self.suspended) else { continue }
            // If moves are not deferred, the former deadline must not stay armed.
            if !core.defersMoves { arm(.max) }
            return true
        }
        return false
    }

    @discardableResult
    func cancel() -> Bool {
        let before = word.exchange(Self.cancelled, ordering: .acquiringAndReleasing)
        if before == Self.cancelled { return false }
        _ = core.cancel(timer)
        letGo()
        return Self.isDeadline(before)
    }

    private func letGo() {
        let left = handler.withLock { $0.take() }
        withExtendedLifetime(left) {}
    }

    /// Calls the handler if the timeout has expired; otherwise arms its present deadline. On the engine's thread, at the
    /// armed deadline.
    private func look() {
        var before = word.load(ordering: .acquiring)
        while Self.isDeadline(before) {
            guard before <= core.time.now_ns else { return arm(before) }
            guard exchange(&before, Self.expired) else { continue }
            handler.withLock { $0 }?.run()
            return
        }
    }

    func shownDeadline_ns(_ armed_ns: Int64) -> Int64 { deadline_ns ?? .max }

    func laterDeadline(_ core: inout FiringCore, than armed_ns: Int64) -> Int64? {
        // A deadline that was not moved is ahead too, when a precise wait expires the timer before it.
        guard let deadline_ns, deadline_ns > armed_ns, deadline_ns > self.core.time.now_ns else { return nil }
        return deadline_ns
    }

    func prepare(_ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) -> Bool {
        // Suspended, or expired before: there is nothing to wait for.
        guard deadline_ns != nil else { return false }
        fire.callback = Callback { [self] in look() }
        return true
    }

    func finish(wasCalled: Bool, _ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) {}

    func coreHasEnded() {
        word.store(Self.cancelled, ordering: .releasing)
        letGo()
    }
}
#endif
