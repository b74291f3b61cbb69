// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
extension EngineCore {
    /// Begins to watch the engine, and returns its observer: from now on the engine's thread notes what it does.
    package func watch() -> LatenessObserver { observer.makeReports(name: name, clock: time, isLoop: false) }
}

/// Calls the handler of an engine's `latenessWatch`.
final class LatenessWatcher: FireObserver {
    private let watch: AnyTimerEngine.LatenessWatch

    init(_ watch: AnyTimerEngine.LatenessWatch) { self.watch = watch }

    package func willPark(_ park: Park) {}
    package func didWake(from park: Park) {}

    package func willCall(_ fire: borrowing Fire) {
        if fire.owner == nil { look(fire) }
    }

    package func didCall(_ fire: borrowing Fire) {
        // The lateness of a source is known once its call was made.
        if fire.owner != nil { look(fire) }
    }

    private func look(_ fire: borrowing Fire) {
        if .nanoseconds(fire.lateness_ns(fire.called_ns)) > watch.bound {
            watch.handler(fire.described(fire.called_ns))
        }
    }
}

extension AnyTimerEngine {
    /// Calls `handler` after each fire that is later than `bound`, with the causes of its lateness: handlers, sources, sleeps
    /// and ticks alike.
    ///
    /// The result may be dropped, or kept for `cancel()`.
    ///
    /// Lateness counts from the deadline, also if the timer was armed for the past (`armedLate`), except for a deadline before
    /// the clock's zero, which means now. A call that runs on the engine's thread is reported there, when its own handler has
    /// returned; a call on a queue, on an actor or by a task is reported where it runs. `handler` must be short. A bound of 0 or
    /// less, and NaN, report each fire that is late at all. Any thread; several handlers may watch one engine.
    ///
    /// A tick that `.skip` leaves out is reported too, with `isLeftOut`, as soon as the thread leaves it out.
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

    /// The recorder of what the engine's thread does; nil, as at first, records nothing.
    ///
    /// One recorder may serve many engines and loops. Any thread.
    public final var flightRecorder: FlightRecorder? {
        get { core.observer.reports?.flightRecorder }
        set {
            if newValue != nil || core.observer.reports != nil { core.watch().flightRecorder = newValue }
        }
    }
}
#endif
