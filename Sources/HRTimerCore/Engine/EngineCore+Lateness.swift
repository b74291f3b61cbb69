#if os(Linux)
import CHRTimer
import Synchronization

/// Where an engine or a loop has its observer, once somebody watches.
package final class ObserverPlace: @unchecked Sendable {
    // Sendable: written once, under the lock, and read after that is known, see `value`.
    private let lock = Locked(false)
    @exclusivity(unchecked)
    // Unsafe: as above.
    nonisolated(unsafe) private var made: LatenessObserver?
    private let isMade = Atomic(false)

    package init() {}

    /// Nil before somebody watches.
    package var value: LatenessObserver? { isMade.load(ordering: .acquiring) ? made : nil }

    package func make(_ make: () -> LatenessObserver) -> LatenessObserver {
        lock.withLock { isThere in
            if !isThere { made = make() }
            isThere = true
        }
        isMade.store(true, ordering: .releasing)
        return made ?? make()
    }

    package var statistics: LatenessStatistics { value?.statistics ?? LatenessStatistics() }
}

// An engine whose fires are watched.
extension EngineCore {
    /// Whether somebody watches its fires. For other modules.
    package var hasWatchers: Bool { isWatched.load(ordering: .relaxed) }

    /// From now on its thread notes what it does.
    package func watch() -> LatenessObserver {
        let made = observer.make { LatenessObserver(name: name, clock: time, isLoop: false) }
        isWatched.store(true, ordering: .releasing)
        return made
    }

    @inline(never)
    func noteArmed(_ token: TimerToken) { observer.value?.noteArmed(token, time.on(.monotonic).now_ns) }

    @inline(never)
    func deliverWatched(_ fire: inout Fire, _ now_ns: Int64) {
        let (watch, observer, token) = (configuration.latenessWatch, observer.value, fire.token)
        // The lateness of a source is known where its call was made.
        let isHandler = fire.owner == nil
        if isHandler { watch?.look(fire, now_ns) }
        observer?.beginCall(fire, now_ns) { allowed_ns(token) }
        fire.deliver(now_ns, on: time)
        observer?.endCall(fire, time.on(.monotonic).now_ns) { allowed_ns(token) }
        if !isHandler { watch?.look(fire, now_ns) }
    }

    /// How much later than its deadline the timer may be, for another one's sake.
    private func allowed_ns(_ token: TimerToken) -> Int64 { state.withLock { $0.allowedLateness_ns(of: token) } }
}

extension TimerEngine.LatenessWatch {
    fileprivate func look(_ fire: borrowing Fire, _ now_ns: Int64) {
        if .nanoseconds(fire.lateness_ns(now_ns)) > bound { handler(fire.described(now_ns)) }
    }
}

extension AnyTimerEngine {
    /// Calls `handler` after each fire that is later than `bound`, with what made it late: handlers, sources, sleeps and ticks
    /// alike. To be dropped, or kept for `cancel()`.
    ///
    /// Lateness counts from the deadline, also of a timer that was armed for the past (`armedLate`), but for one before the
    /// clock's zero, which means now. What runs on the engine's thread is reported there when its own handler has
    /// returned; a call on a queue, an actor or by a task is reported there. It must be short. A bound of 0 or less, and NaN, report
    /// each fire that is late at all. Any thread; several may watch one engine.
    ///
    /// As long as nobody has watched an engine a fire reads one flag. From then on the engine's thread notes what it does: some tens
    /// of nanoseconds for a fire in time, and some microseconds for a late one, before its handler (`bench ops
    /// --operation watched`). It reads the kernel's counts each twelfth time that it goes to sleep.
    @discardableResult
    public final func onLate(
        beyond bound: some TimeSpan,
        _ handler: @escaping @Sendable (LatenessReport) -> Void
    ) -> LatenessSubscription {
        core.watch().add(beyond: bound.nanosecondsOrZero, handler)
    }

    /// Records what the engine's thread does; nil, as at first, for nothing. One recorder may serve many engines and loops. Any
    /// thread.
    public final var flightRecorder: FlightRecorder? {
        get { core.observer.value?.flightRecorder }
        set {
            if newValue != nil || core.observer.value != nil { core.watch().flightRecorder = newValue }
        }
    }
}
#endif
