#if os(Linux)
public import HRTimerCore
import Synchronization

/// Calls a handler when nothing has happened for a while: one object for each connection, touched at every request.
///
///     let idle = IdleTimeout(.seconds(30)) { connection.close() }
///     idle.touch()                                // a request has come: thirty seconds from now
///     idle.cancel()                               // the connection is closed
///
/// `touch()` reads the clock and exchanges one word: no lock, no allocation, no system call. The engine is not
/// notified: at the former deadline it reads the new one and waits for that. So each timeout period costs one wake-up
/// at most.
///
/// The handler is called once each time the timeout expires, on the engine's thread, never early, and never after a
/// `touch()` or `cancel()` that returned true: these and the expiry are ordered. The handler and its captures are held
/// until `cancel()`, until the engine ends, or until the last reference to the timeout goes. All members may be called
/// from any thread, and from the handler.
///
/// In virtual time the engine is notified of every deadline at once.
public final class IdleTimeout: Sendable {
    private let core: IdleCore
    /// Keeps the engine running.
    private let engine: TimerEngine

    /// Starts at once; see `resume()`. Zero, negative values and NaN expire at once.
    ///
    /// On an engine that was shut down it never starts: `isRunning` is false.
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

    /// Restarts the timeout. True if that was before the engine's call, even if the deadline had passed; false also if
    /// it is suspended or cancelled.
    @discardableResult
    public func touch() -> Bool { core.touch() }

    /// Stops the timeout until `resume()`, for example while a request is handled. True if it was running.
    @discardableResult
    public func suspend() -> Bool { core.suspend() }

    /// Starts the timeout from now: after `suspend()`, or again after it has expired. While it runs, the same as
    /// `touch()`. False after `cancel()`, or if the engine has ended.
    @discardableResult
    public func resume() -> Bool { core.resume() }

    /// Ends it for good, unlike `suspend()`, and frees the handler. True if it was running, so that the handler is not
    /// called.
    @discardableResult
    public func cancel() -> Bool { core.cancel() }

    /// The idle time after which it expires. A new value counts from the next `touch()` or `resume()` on.
    public var timeout: Duration {
        get { .nanoseconds(core.timeout_ns.load(ordering: .relaxed)) }
        set { core.timeout_ns.store(newValue.nanosecondsRoundedUp, ordering: .relaxed) }
    }

    /// When it expires; nil if it does not run.
    public var deadline: MonotonicInstant? { core.deadline_ns.map(MonotonicInstant.init(nanoseconds:)) }

    /// Whether it runs: neither suspended, nor cancelled, nor expired.
    public var isRunning: Bool { core.deadline_ns != nil }
}

/// The part of an `IdleTimeout` that the engine holds.
private final class IdleCore: TimerOwner, @unchecked Sendable {
    // Sendable: `timer` is written before any other call, `handler` is behind a lock.

    /// The deadline while it runs; otherwise why it does not. The thread whose exchange succeeds decides.
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

    /// Called before all others.
    func register() {
        var request = TimerRequest()
        request.isOwned = true
        timer = core.schedule(.owner(self), request)
        if timer == .stale { coreHasEnded() }
    }

    /// The deadline of a timeout that starts now. Never one of the words that are not deadlines.
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
        let next_ns = next_ns
        var before = word.load(ordering: .relaxed)
        while Self.isDeadline(before) {
            guard exchange(&before, next_ns) else { continue }
            // Armed at once if it is earlier than the engine's deadline.
            if next_ns < before || !core.defersMoves { arm(next_ns) }
            return true
        }
        return false
    }

    /// Has the engine check at that instant, or before.
    private func arm(_ deadline_ns: Int64) { _ = core.arm(timer, deadline_ns: deadline_ns) }

    func resume() -> Bool {
        if touch() { return true }
        let next_ns = next_ns
        var before = word.load(ordering: .relaxed)
        while before != Self.cancelled {
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
            // If moves are not deferred, no former deadline is left.
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

    /// On the engine's thread: its deadline has come.
    private func look() {
        var before = word.load(ordering: .acquiring)
        while Self.isDeadline(before) {
            guard before <= core.time.now_ns else {
                arm(before)
                // Meanwhile a touch with a shorter timeout may have armed an earlier deadline, which this replaced.
                let now = word.load(ordering: .acquiring)
                if now >= before { return }
                before = now
                continue
            }
            guard exchange(&before, Self.expired) else { continue }
            handler.withLock { $0 }?.run()
            return
        }
    }

    func shownDeadline_ns(_ armed_ns: Int64) -> Int64 { deadline_ns ?? .max }

    func laterDeadline(_ core: inout FiringCore) -> Int64? {
        guard let deadline_ns, deadline_ns > self.core.time.now_ns else { return nil }
        return deadline_ns
    }

    func prepare(_ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) -> Bool {
        // Paused, or expired before: nothing to wait for.
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
