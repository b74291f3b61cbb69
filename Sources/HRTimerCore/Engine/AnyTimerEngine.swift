// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// An engine on any clock, as code sees it that needs no instant.
///
/// Engines are made as `TimerEngine`, `BootTimeTimerEngine` and `WallTimerEngine`. Any thread may use all members; handlers run
/// on the engine's thread, one after the other.
public class AnyTimerEngine: @unchecked Sendable {
    // Sendable: its properties are constant, and of Sendable types. Its only subclass is `ClockTimerEngine`, which has none.

    package final let core: EngineCore

    init(_ core: EngineCore) { self.core = core }

    deinit {
        // Counted before the end, which forgets the deadlines. Reported after it, since the user's function may block.
        let dropped = UsageWarning.isLookedFor ? core.state.withLock { $0.dueTimers } : 0
        core.shutdown()
        if dropped > 0 { core.time.lookForMisuse { UsageWarning.reportNotKept(core.name, dropped) } }
    }

    /// Cancels the timer: forgets it and frees its handler, after a call that is running.
    ///
    /// Returns true if a deadline was left that the timer has not been called for, and now never will be. Returns false for a
    /// one-shot timer whose call has begun, and if the token is stale or belongs to another engine.
    ///
    /// If called on the engine's own thread, there is no call after this returns. If called elsewhere, a call that has
    /// begun goes on; see `cancelAndWait(_:)`. A precise call may count as begun up to 4 µs before its deadline.
    @discardableResult
    public final func cancel(_ token: TimerToken) -> Bool {
        core.cancel(token)
    }

    /// Cancels the timer, and returns only when no call of its handler is running.
    ///
    /// If called from a handler of this engine, it does not wait, since it would wait for itself.
    ///
    /// Handlers of two engines that wait for each other's timers in this way wait for ever, as threads that join each other do.
    /// Of any two engines, only the handlers of one may wait for timers of the other.
    @available(*, noasync)
    @discardableResult
    public final func cancelAndWait(_ token: TimerToken) -> Bool {
        let wasLive = core.cancel(token)
        core.waitUntilNotRunning(token)
        return wasLive
    }

    /// Cancels the timer as the synchronous `cancelAndWait(_:)` does, for asynchronous functions: no thread of theirs waits.
    ///
    /// Tasks that handlers wait for can still wait for each other.
    @discardableResult
    public final func cancelAndWait(_ token: TimerToken) async -> Bool {
        let wasLive = core.cancel(token)
        await core.untilNotRunning(token)
        return wasLive
    }

    /// The number of live timers: scheduled, and neither cancelled nor called for the last time.
    ///
    /// During its last call a timer no longer counts. A job that an executor submits to its engine counts until it begins.
    public final var liveTimers: Int { core.liveTimers }

    /// Counts since the engine was started.
    public final var statistics: TimerStatistics { core.statistics }

    /// How late the fires so far were: a copy, taken without stopping the engine.
    ///
    /// O(buckets).
    ///
    /// Lateness counts from the deadline, or from the arming if the deadline had passed by then; `TimerFire.lateness`
    /// always counts from the deadline. A call onto a queue or an actor counts when it is submitted. A sleep, or a call
    /// onto a queue that a precise engine submits before the deadline, is counted by the thread that reaches the deadline.
    /// A negative value would be an early fire.
    public final var lateness: LatencyHistogram { core.latenessSoFar }

    /// How late the kernel woke the engine's thread, each time it slept up to an instant of its own choosing: the part of the
    /// lateness that the engine does not cause.
    ///
    /// A copy, taken without stopping the engine. O(buckets).
    public final var wakeLatency: LatencyHistogram { core.wakeLatencySoFar }

    /// The kernel's result for each setting of the configuration's `realTime` that was requested: granted or refused.
    ///
    /// Waits until the engine's thread has begun to run; empty on virtual time, where there is no thread.
    @available(*, noasync, message: "await awaitSettingResults() instead")
    public final var settingResults: [SettingResult] { core.settingResults }

    /// Returns `settingResults` for asynchronous functions: no thread of theirs waits.
    public final func awaitSettingResults() async -> [SettingResult] {
        await core.awaitSettingResults()
    }

    /// Shuts the engine down: pending timers are forgotten and their handlers freed.
    ///
    /// The thread has ended when this returns, unless it is called by a handler. A handler that was not called by then is not
    /// called any more. Idempotent.
    ///
    /// Returns how many timers it dropped that were still to be called, sources not counted; 0 to every caller but the
    /// first. Engines and other owners of a thread are shut down or ended, and everything is over when that returns; timers
    /// are cancelled one by one, by their tokens.
    @available(*, noasync)
    @discardableResult
    public final func shutdown() -> Int {
        core.shutdown()
    }

    /// Shuts the engine down as the synchronous `shutdown()` does, for asynchronous functions: no thread of theirs waits.
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
    /// Whether the engine has ended, or its precision; how many timers it has, how often it has fired, and how late.
    public final var description: String {
        let state = core.isShutDown ? "ended" : "\(core.precision)"
        let fires = statistics.fires
        let counts = "\(counted(liveTimers, "timer")), \(counted(fires, "fire"))"
        let lateness = fires > 0 ? "; lateness of \(lateness)" : ""
        return "\(typeName)(\(state), \(counts)\(lateness))"
    }

    private var typeName: String {
        switch core.time.clock {
        case .monotonic: "TimerEngine"
        case .bootTime: "BootTimeTimerEngine"
        case .wall: "WallTimerEngine"
        }
    }
}
#endif
