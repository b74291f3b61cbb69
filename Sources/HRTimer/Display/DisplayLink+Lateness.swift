// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

extension DisplayLink {
    /// Calls `handler` after each call of the link's handler that is later than `bound`, and reports what made it late.
    ///
    /// `handler` runs where the link's handler ran. The result may be dropped, or kept for `cancel()`.
    ///
    /// Lateness counts from the instant at which the call was to come, the refresh or the instant that the lead gives, as for
    /// `lateness`. The wait for a busy actor is `delivery`. From then on, the loop that the link is in, or is added to, is
    /// watched: see `TimerLoop.onLate(beyond:_:)`. Any thread.
    @discardableResult
    public func onLate(
        beyond bound: some TimeSpan,
        _ handler: @escaping @Sendable (LatenessReport) -> Void
    ) -> LatenessSubscription {
        let made = LateHandlers()
        let handlers = withState { state in
            if state.lateHandlers == nil { state.lateHandlers = made }
            return state.lateHandlers ?? made
        }
        loopCore?.watch().lowerBound(to: bound.nanosecondsOrZero)
        return handlers.add(beyond: bound.nanosecondsOrZero, handler)
    }

    /// Calls the link's handler, `lateness_ns` late, and then the handlers that watch. `submitted` records a call on an actor.
    func callWatched(
        _ handler: OwnerFunction,
        _ handlers: LateHandlers,
        _ now_ns: Int64,
        _ lateness_ns: Int64,
        _ submitted: SubmittedCall?
    ) {
        let observer = loopCore?.observer.reports
        let deadline_ns = now_ns.subtractingSaturating(lateness_ns)
        let late = observer?.explain(submitted, deadline_ns: deadline_ns, called_ns: now_ns)
        handler.call(self)
        guard var late else { return }
        late.name = "display link"
        // The loop itself reports calls on its own thread.
        if submitted != nil { observer?.report(late) }
        handlers.call(late)
    }
}
#endif
