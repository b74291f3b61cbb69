#if os(Linux)
public import HRTimerCore
import Synchronization

extension TimerSource {
    /// Calls `handler` with a report after each call of the event handler that is later than `bound`, where that call ran. The
    /// returned subscription may be dropped, or kept for `cancel()`.
    ///
    /// Lateness counts from the nominal deadline that the call was due for. The report says what made the call late: `delivery`
    /// is time on the way to a busy queue, loop or actor; `handlerBefore` is time in which the handler's previous call ran on.
    /// From then on the source's engine is watched: see `AnyTimerEngine.onLate(beyond:_:)`. Not for deadlines on another clock
    /// than the engine's, nor for calls that were already on their way. Any thread.
    @discardableResult
    public func onLate(
        beyond bound: some TimeSpan,
        _ handler: @escaping @Sendable (LatenessReport) -> Void
    ) -> LatenessSubscription {
        core.core.watch().lowerBound(to: bound.nanosecondsOrZero)
        return core.lateHandlers().add(beyond: bound.nanosecondsOrZero, handler)
    }
}

extension SourceCore {
    package func lateHandlers() -> LateHandlers {
        let made = LateHandlers()
        return withLock { state in
            let extras = state.makeExtras()
            if let handlers = extras.pointee.lateHandlers { return handlers }
            extras.pointee.lateHandlers = made
            return made
        }
    }

    package func notesSubmission(_ submitted: () -> SubmittedCall) -> Bool {
        let isSubmitted = withLock { state in state.engineSubmits && state.submit != nil && state.alarm == nil }
        guard isSubmitted else { return false }
        let call = submitted()
        withLock { state in state.makeExtras().pointee.submitted = call }
        return true
    }

    /// Notes a call submitted without the engine: the previous call still ran when this one was due, or it was armed that late.
    func noteSubmittedHere(_ state: inout State, now_ns: Int64, isAfterCall: Bool) {
        guard core.hasWatchers, state.alarm == nil else { return }
        var call = SubmittedCall(submitted_ns: now_ns)
        call.cause = isAfterCall ? .handlerBefore : .armedLate
        state.makeExtras().pointee.submitted = call
    }

    /// Returns a callback for a call on the queue or actor: it runs the event handler and reports a late call. Under the lock.
    func watched(_ event: Callback, deadline_ns: Int64, _ state: inout State) -> Callback {
        guard let submitted = state.extras?.pointee.submitted.take(), let observer = core.observer.value else {
            return event
        }
        let handlers = state.lateHandlers
        let timer = state.timer ?? .stale
        let delivery = observer.delivery(
            submitted,
            deadline_ns: deadline_ns,
            name: "source on \(core.name)",
            timer: timer,
            bound_ns: handlers?.leastBound_ns ?? .max
        )
        guard let delivery else { return event }
        return Callback {
            event.run()
            observer.report(delivery.call, delivery.explanation)
            handlers?.call(delivery.explanation.parts) { delivery.report }
        }
    }

    /// Returns a callback for the engine's thread, which reports for the engine by itself: it runs the event handler, and then
    /// calls the source's late handlers. `observer` explains the lateness when the call begins.
    func watchedInline(_ event: Callback, deadline_ns: Int64, _ state: borrowing State) -> Callback {
        guard let handlers = state.lateHandlers, state.alarm == nil, let observer = core.observer.value else {
            return event
        }
        let timer = state.timer ?? .stale
        return Callback { [core] in
            let called_ns = core.time.now_ns
            guard handlers.isLate(called_ns.subtractingSaturating(deadline_ns)) else { return event.run() }
            let (monotonic_ns, explanation) = observer.explainCurrent(deadline_ns: deadline_ns, called_ns: called_ns)
            event.run()
            handlers.call(explanation.parts) {
                var call = LateCall(name: "source on \(core.name)", called_ns: monotonic_ns)
                call.timer = timer
                return LatenessReport(call, explanation)
            }
        }
    }
}
#endif
