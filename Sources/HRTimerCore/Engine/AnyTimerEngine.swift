#if os(Linux)
/// What engines on all clocks have in common: everything that takes no instant. They are made as `TimerEngine`,
/// `BootTimeTimerEngine` and `WallTimerEngine`.
public class AnyTimerEngine: @unchecked Sendable {
    // Sendable: its one property is constant, and of a Sendable type. Only this module has subclasses, which have no
    // properties.

    package final let core: EngineCore
    /// The core's, for code that holds the engine: reading them counts no reference.
    package final let statePlace: LockedPlace<FiringCore>
    package final let defersMoves: Bool

    init(_ core: EngineCore) {
        self.core = core
        statePlace = core.state.place
        defersMoves = core.defersMoves
    }

    deinit {
        core.shutdown()
    }

    /// Forgets the timer and frees its handler, after a call that runs. True if there was a deadline left that it has not been
    /// called for, and now never will be; false for a one-shot timer whose call has begun, and if the token is stale or
    /// another engine's.
    ///
    /// On the engine's own thread there is no call after this returns. Elsewhere a call that has begun goes on; see
    /// `cancelAndWait(_:)`.
    @discardableResult
    public final func cancel(_ token: TimerToken) -> Bool {
        core.cancel(token)
    }

    /// Cancels, and returns only when no call of the handler is going on. Called from a handler of this engine it does not
    /// wait, since it would wait for itself.
    @available(*, noasync)
    @discardableResult
    public final func cancelAndWait(_ token: TimerToken) -> Bool {
        let wasLive = core.cancel(token)
        core.waitUntilNotRunning(token)
        return wasLive
    }

    /// The same for asynchronous functions: no thread of theirs waits.
    @discardableResult
    public final func cancelAndWait(_ token: TimerToken) async -> Bool {
        let wasLive = core.cancel(token)
        await core.untilNotRunning(token)
        return wasLive
    }

    /// How many timers are live: scheduled, and neither cancelled nor called for the last time. In its last call a
    /// timer counts no more. What an executor submits to its engine counts until it begins.
    public final var liveTimers: Int { core.liveTimers }

    /// Counts since the engine was started.
    public final var statistics: EngineStatistics { core.statistics }

    /// How late the fires so far were: a copy, taken without stopping the engine. O(buckets).
    ///
    /// Counted from the deadline, or if that had passed when the timer was armed from then on; `TimerFire.lateness`
    /// always counts from the deadline. A call onto a queue or an actor counts when it is submitted. A sleep or a call
    /// onto a queue that a precise engine submits before the deadline is counted by the thread that reaches the
    /// deadline. A negative value would be an early fire.
    public final var lateness: LatencyHistogram { core.latenessSoFar }

    /// How late the kernel woke the engine's thread, each time it slept up to an instant of its own choosing: the part of
    /// lateness that is not the engine's. A copy, taken without stopping the engine. O(buckets).
    public final var wakeLatency: LatencyHistogram { core.wakeLatencySoFar }

    /// The kernel's result for each setting of the configuration's `realTime` that was requested: granted or refused.
    /// Waits until the engine's thread has begun to run; empty on virtual time, where there is none.
    @available(*, noasync)
    public final var settingResults: [SettingResult] { core.settingResults }

    /// `settingResults` for asynchronous functions: no thread of theirs waits.
    public final func awaitSettingResults() async -> [SettingResult] {
        await core.awaitSettingResults()
    }

    /// Shuts the engine down: pending timers are forgotten and their handlers freed; the thread has ended when this
    /// returns, unless it is called by a handler. What was not called by then is not called any more. Idempotent.
    ///
    /// Gives how many timers it dropped that were still to be called, sources not counted; 0 to every caller but the first.
    /// Engines and what owns a thread are shut down or ended, and all is over when that returns; timers are cancelled by their
    /// tokens one by one.
    @available(*, noasync)
    @discardableResult
    public final func shutdown() -> Int {
        core.shutdown()
    }

    /// The same for asynchronous functions: no thread of theirs waits.
    @discardableResult
    public final func shutdown() async -> Int {
        guard core.hasThread else { return core.shutdown() }
        let dropped = Locked(0)
        await onThreadOfItsOwn { [core] in
            let count = core.shutdown()
            dropped.withLock { $0 = count }
        }
        return dropped.withLock { $0 }
    }
}

extension AnyTimerEngine: CustomStringConvertible {
    /// Whether it goes on, its precision, how many timers it has, how often it has fired, and how late.
    public final var description: String {
        let state = core.isShutDown ? "ended" : "\(core.precision)"
        let fires = statistics.fires
        let lateness = fires > 0 ? "; lateness of \(lateness)" : ""
        return "\(Self.self)(\(state), \(liveTimers) timers, \(fires) fires\(lateness))"
    }
}
#endif
