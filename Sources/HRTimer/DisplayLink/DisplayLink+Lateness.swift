#if os(Linux)
public import HRTimerCore

extension DisplayLink {
    /// Calls `handler` after each call of the link's handler that is later than `bound`, with what made it late, where that
    /// ran. To be dropped, or kept for `cancel()`.
    ///
    /// Lateness counts from the instant that the call was to come at, the refresh or what the lead makes of it, as
    /// `lateness` has it. Time on the way to an actor that was busy is `delivery`. The loop that the link is in, or is added to, is
    /// watched from then on: see `TimerLoop.onLate(beyond:_:)`. Any thread.
    @discardableResult
    public func onLate(
        beyond bound: some TimeSpan,
        _ handler: @escaping @Sendable (LatenessReport) -> Void
    ) -> LatenessSubscription {
        let made = LateHandlers()
        let (handlers, loop) = state.withLock { state in
            if state.lateHandlers == nil { state.lateHandlers = made }
            return (state.lateHandlers ?? made, state.loop)
        }
        loop?.core.watch().lowerBound(to: bound.nanosecondsOrZero)
        return handlers.add(beyond: bound.nanosecondsOrZero, handler)
    }

    /// Calls the handler, which is late by so much, and tells those who watch. `submitted` is what is known of a call on an actor.
    func callWatched(
        _ handler: Handler,
        _ handlers: LateHandlers,
        _ now_ns: Int64,
        _ lateness_ns: Int64,
        _ submitted: SubmittedCall?
    ) {
        guard handlers.isLate(lateness_ns), let observer = state.withLock({ $0.loop })?.core.observer.value else {
            return handler(self)
        }
        let deadline_ns = now_ns.subtractingSaturating(lateness_ns)
        let call = LateCall(name: "display link", called_ns: now_ns)
        let explanation =
            submitted?.explained(deadline_ns, now_ns)
            ?? observer.explainCurrent(deadline_ns: deadline_ns, called_ns: now_ns).1
        handler(self)
        // The loop reports calls on its own thread.
        if submitted != nil { observer.report(call, explanation) }
        handlers.call(explanation.parts) { LatenessReport(call, explanation) }
    }
}
#endif
