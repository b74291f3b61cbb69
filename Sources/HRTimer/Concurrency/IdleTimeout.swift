public import HRTimerCore
import Synchronization

/// Calls a handler when nothing has happened for a while: one object for each connection, touched at every request.
///
///     let idle = IdleTimeout(.seconds(30)) { connection.close() }
///     idle.touch()                                // a request has come: thirty seconds from now
///     idle.cancel()                               // the connection is closed
///
/// `touch()` reads the clock and exchanges one word: no lock, no allocation, no system call. The engine learns of it when the
/// deadline comes that it knows, and waits for the later one: one wake-up at most for each timeout that passes.
///
/// The handler is called once for each time that runs out, on the engine's thread, never early, and never after a `touch()` or
/// `cancel()` that returned true: each of them and the end of the time happen one after the other. It goes on holding what it
/// captured until `cancel()`, the end of the engine, or the last reference to the timeout goes. All members may be called from
/// any thread, and from the handler.
///
/// In virtual time the engine knows every deadline at once.
public final class IdleTimeout: Sendable {
    private let core: IdleCore
    /// Keeps the engine running.
    private let engine: TimerEngine

    /// Runs from now on; see `start()`. Zero, less, and NaN run out at once.
    ///
    /// On an engine that was shut down it never does: `isRunning` is false.
    public init(
        _ timeout: some TimeSpan,
        engine: TimerEngine = .shared,
        handler: @escaping @Sendable () -> Void
    ) {
        self.engine = engine
        core = IdleCore(engine.core, timeout.nanosecondsOrZero, handler)
        core.register()
        _ = core.start()
    }

    deinit {
        core.cancel()
    }

    /// Restarts the timeout. True if that was before the engine called, even if the deadline had passed; false also if
    /// it is paused or cancelled.
    @discardableResult
    public func touch() -> Bool { core.touch() }

    /// The time stands still, and does not run out, until `start()`: while a request is worked at. True if it was running.
    @discardableResult
    public func pause() -> Bool { core.pause() }

    /// Begins the time, from now: after `pause()`, or once more when it has run out. While it runs it is the same as `touch()`.
    /// False after `cancel()`, or if the engine has ended.
    @discardableResult
    public func start() -> Bool { core.start() }

    /// Ends it for good, unlike `pause()`, and frees the handler. True if the time was running, so that the handler is not
    /// called for it.
    @discardableResult
    public func cancel() -> Bool { core.cancel() }

    /// How long nothing may happen. A new value counts from the next `touch()` or `start()` on.
    public var timeout: Duration {
        get { .nanoseconds(core.timeout_ns.load(ordering: .relaxed)) }
        set { core.timeout_ns.store(newValue.nanosecondsRoundedUp, ordering: .relaxed) }
    }

    /// When the time runs out; nil if it does not run.
    public var deadline: MonotonicInstant? { core.deadline_ns.map(MonotonicInstant.init(nanoseconds:)) }

    /// Whether the time runs: neither paused nor cancelled, nor has it run out.
    public var isRunning: Bool { core.deadline_ns != nil }
}

/// What the engine holds of an `IdleTimeout`.
private final class IdleCore: TimerOwner, @unchecked Sendable {
    // Sendable: `timer` is written before anything else is called, `handler` is behind a lock.

    /// The deadline while the time runs; otherwise why it does not. The thread whose exchange succeeds decides.
    private let word: Atomic<Int64>
    private static let paused = Int64.max
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
        word = Atomic(Self.paused)
    }

    /// First of all.
    func register() {
        var request = TimerRequest()
        request.isOwned = true
        timer = core.schedule(.owner(self), request)
        if timer == .stale { coreHasEnded() }
    }

    /// Of a time that begins now. Never one of the words that are none.
    private var next_ns: Int64 {
        let deadline_ns = core.time.now_ns.addingSaturating(timeout_ns.load(ordering: .relaxed))
        return min(max(deadline_ns, Self.cancelled + 1), Self.paused - 1)
    }

    private static func isDeadline(_ word: Int64) -> Bool { word > cancelled && word < paused }

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
            // Armed at once where it is earlier than the engine knows.
            if next_ns < before || !core.defersMoves { arm(next_ns) }
            return true
        }
        return false
    }

    /// Has the engine look at that instant, or before.
    private func arm(_ deadline_ns: Int64) { _ = core.arm(timer, deadline_ns: deadline_ns) }

    func start() -> Bool {
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

    func pause() -> Bool {
        var before = word.load(ordering: .relaxed)
        while Self.isDeadline(before) {
            guard exchange(&before, Self.paused) else { continue }
            // Where nothing is deferred nothing is left either.
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

    /// The engine's thread: the deadline that it knew has come.
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

    func laterDeadline() -> Int64? {
        guard let deadline_ns, deadline_ns > core.time.now_ns else { return nil }
        return deadline_ns
    }

    func prepare(_ now_ns: Int64, _ timer: TimerToken, _ core: inout FiringCore, _ call: inout PreparedCall) -> Bool {
        // Paused, or run out before: nothing to look for.
        guard deadline_ns != nil else { return false }
        call.callee = .callback(Callback { [self] in look() })
        return true
    }

    func finish(wasCalled: Bool, _ now_ns: Int64, _ timer: TimerToken, _ core: inout FiringCore, _ end: inout FireEnd) {
    }

    func coreHasEnded() {
        word.store(Self.cancelled, ordering: .releasing)
        letGo()
    }
}
