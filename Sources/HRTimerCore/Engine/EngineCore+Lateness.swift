#if os(Linux)
import CHRTimer
import Synchronization

/// The place where an engine or a loop keeps its observer, once somebody watches.
package final class ObserverPlace: @unchecked Sendable {
    // Sendable: `made` is written once, under the lock, and read only after `isMade` is set; see `value`.
    private let lock = Locked(false)
    @exclusivity(unchecked)
    // Unsafe: as above.
    nonisolated(unsafe) private var made: LatenessObserver?
    private let isMade = Atomic(false)

    package init() {}

    /// The observer; nil before somebody watches.
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
    /// Whether somebody watches the engine's fires. For other modules.
    package var hasWatchers: Bool { isWatched.load(ordering: .relaxed) }

    /// Begins to watch the engine, and returns its observer: from now on the engine's thread notes what it does.
    package func watch() -> LatenessObserver {
        let made = observer.make { LatenessObserver(name: name, clock: time, isLoop: false) }
        state.withLock { if $0.leftOut == nil { $0.leftOut = [] } }
        isWatched.store(true, ordering: .releasing)
        return made
    }

    @inline(never)
    func noteArmed(_ token: TimerToken) { observer.value?.noteArmed(token, time.on(.monotonic).now_ns) }

    @inline(never)
    func deliverWatched(_ fire: inout Fire, _ now_ns: Int64) {
        reportLeftOut()
        let (watch, observer, token) = (configuration.latenessWatch, observer.value, fire.token)
        // The lateness of a source is known once its call was made.
        let isHandler = fire.owner == nil
        if isHandler { watch?.look(fire, now_ns) }
        observer?.beginCall(fire, now_ns) { allowed_ns(token) }
        fire.deliver(now_ns, on: time)
        observer?.endCall(fire, time.on(.monotonic).now_ns) { allowed_ns(token) }
        if !isHandler { watch?.look(fire, now_ns) }
    }

    @inline(never)
    func willPark(_ park: Park) {
        reportLeftOut()
        observer.value?.willPark(park)
    }

    /// Tells those who watch of the ticks that policies have left out. Before each call, and before the thread parks.
    @inline(never)
    func reportLeftOut() {
        let ticks = state.withLock { $0.takeLeftOut() }
        if ticks.isEmpty { return }
        for tick in ticks { configuration.latenessWatch?.look(tick) }
        observer.value?.reportLeftOut(ticks)
    }

    /// Returns how much later than its deadline the timer may fire to share a wake-up.
    private func allowed_ns(_ token: TimerToken) -> Int64 { state.withLock { $0.allowedLateness_ns(of: token) } }
}

extension AnyTimerEngine.LatenessWatch {
    fileprivate func look(_ fire: borrowing Fire, _ now_ns: Int64) {
        if .nanoseconds(fire.lateness_ns(now_ns)) > bound { handler(fire.described(now_ns)) }
    }

    fileprivate func look(_ tick: LeftOutTick) {
        guard .nanoseconds(tick.leftOut_ns.subtractingSaturating(tick.lateFrom_ns)) > bound else { return }
        handler(
            TimerFire(
                token: tick.timer,
                deadline_ns: tick.deadline_ns,
                firedAt_ns: tick.leftOut_ns,
                missedTicks: tick.missedTicks
            )
        )
    }
}

extension AnyTimerEngine {
    /// Calls `handler` after each fire that is later than `bound`, with the causes of its lateness: handlers, sources,
    /// sleeps and ticks alike. The result may be dropped, or kept for `cancel()`.
    ///
    /// Lateness counts from the deadline, also if the timer was armed for the past (`armedLate`), except for a deadline before
    /// the clock's zero, which means now. A call that runs on the engine's thread is reported there, when its own handler has
    /// returned; a call on a queue, on an actor or by a task is reported where it runs. `handler` must be short. A bound of 0 or
    /// less, and NaN, report each fire that is late at all. Any thread; several handlers may watch one engine.
    ///
    /// A tick that `.skip` leaves out is reported too, with `isLeftOut`, before the next call or before the thread sleeps.
    ///
    /// As long as nobody has watched an engine, a fire reads one flag. From then on the engine's thread notes what it does:
    /// that takes some tens of nanoseconds for a fire in time, and some microseconds for a late one, before its handler
    /// (`bench ops --operation watched`). The thread reads the kernel's counts each twelfth time that it goes to sleep.
    @discardableResult
    public final func onLate(
        beyond bound: some TimeSpan,
        _ handler: @escaping @Sendable (LatenessReport) -> Void
    ) -> LatenessSubscription {
        core.watch().add(beyond: bound.nanosecondsOrZero, handler)
    }

    /// The recorder of what the engine's thread does; nil, as at first, records nothing. One recorder may serve many
    /// engines and loops. Any thread.
    public final var flightRecorder: FlightRecorder? {
        get { core.observer.value?.flightRecorder }
        set {
            if newValue != nil || core.observer.value != nil { core.watch().flightRecorder = newValue }
        }
    }
}
#endif
