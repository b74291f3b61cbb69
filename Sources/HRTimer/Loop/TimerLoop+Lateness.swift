// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

extension TimerLoop {
    /// Calls `handler` on the loop's thread after each call of a timer that was later than `bound`, with what made it late.
    ///
    /// Calls of display links and of ticks on the loop count too. The result may be dropped, or kept for `cancel()`.
    ///
    /// The cause `loopBusy` is time in which the loop did something else than call timers, ran in other modes or did not run.
    /// A tick that `.skip` leaves out is reported too, with `isLeftOut`, as soon as the pass leaves it out. For all else see `AnyTimerEngine.onLate(beyond:_:)`. Any thread.
    @discardableResult
    public func onLate(
        beyond bound: some TimeSpan,
        _ handler: @escaping @Sendable (LatenessReport) -> Void
    ) -> LatenessSubscription {
        core.watch().add(beyond: bound.nanosecondsOrZero, handler)
    }

    /// The recorder of what the loop's thread does for its timers; nil, the default, records nothing.
    ///
    /// One recorder may serve many engines and loops. Any thread.
    public var flightRecorder: FlightRecorder? {
        get { core.observer.reports?.flightRecorder }
        set {
            if newValue != nil || core.observer.reports != nil { core.watch().flightRecorder = newValue }
        }
    }
}

extension LoopCore {
    /// Makes the loop's thread note from now on what it does.
    func watch() -> LatenessObserver { observer.makeReports(name: "loop", clock: time, isLoop: true) }
}
#endif
