#if os(Linux)
import CHRTimer
public import HRTimerCore
import Synchronization

extension TimerLoop {
    /// Calls `handler` on the loop's thread after each call of a timer that was later than `bound`, with what made it late.
    /// Calls of display links and of ticks on the loop count too. The result may be dropped, or kept for `cancel()`.
    ///
    /// The cause `loopBusy` is time in which the loop did something else than call timers, ran in other modes or did not run.
    /// A tick that `.skip` leaves out is reported too, with `isLeftOut`, before the next call or at the end of the pass. For all
    /// else see `AnyTimerEngine.onLate(beyond:_:)`. Any thread.
    @discardableResult
    public func onLate(
        beyond bound: some TimeSpan,
        _ handler: @escaping @Sendable (LatenessReport) -> Void
    ) -> LatenessSubscription {
        core.watch().add(beyond: bound.nanosecondsOrZero, handler)
    }

    /// The recorder of what the loop's thread does for its timers; nil, the default, records nothing. One recorder may serve
    /// many engines and loops. Any thread.
    public var flightRecorder: FlightRecorder? {
        get { core.observer.value?.flightRecorder }
        set {
            if newValue != nil || core.observer.value != nil { core.watch().flightRecorder = newValue }
        }
    }
}

extension LoopCore {
    /// Makes the loop's thread note from now on what it does.
    func watch() -> LatenessObserver {
        let made = observer.make { LatenessObserver(name: "loop", clock: time, isLoop: true) }
        state.withLock { if $0.core.leftOut == nil { $0.core.leftOut = [] } }
        isWatched.store(true, ordering: .releasing)
        return made
    }

    func deliverWatched(_ fire: inout Fire, _ now_ns: Int64) {
        reportLeftOut()
        let (observer, token) = (observer.value, fire.token)
        observer?.beginCall(fire, now_ns) { allowed_ns(token) }
        fire.deliver(now_ns, on: time)
        observer?.endCall(fire, time.now_ns) { allowed_ns(token) }
    }

    /// Tells those who watch of the ticks that policies have left out. Before each call, and after the calls of a pass.
    func reportLeftOut() {
        let ticks = state.withLock { $0.core.takeLeftOut() }
        if !ticks.isEmpty { observer.value?.reportLeftOut(ticks) }
    }

    private func allowed_ns(_ token: TimerToken) -> Int64 { state.withLock { $0.core.allowedLateness_ns(of: token) } }
}
#endif
