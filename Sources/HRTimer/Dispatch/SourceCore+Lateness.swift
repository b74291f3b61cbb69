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
    /// than the engine's, nor for calls that were already on their way. A tick that `.skip` leaves out is reported too, with
    /// `isLeftOut`. Any thread.
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
        guard var late = delivery(deadline_ns, &state) else { return event }
        late.call.missedTicks = Int(clamping: state.data - 1)
        let report = reporting(late, state)
        return Callback {
            event.run()
            report.run()
        }
    }

    /// Returns a callback that reports a submitted call whose tick the policy leaves out; nil if nobody is to know. Under the lock.
    func leftOut(_ missed: Int, deadline_ns: Int64, _ state: inout State) -> Callback? {
        guard missed > 0, var late = delivery(deadline_ns, &state) else { return nil }
        late.call.missedTicks = missed
        late.call.isLeftOut = true
        return reporting(late, state)
    }

    /// Returns the explanation of a submitted call that is late beyond the bounds; nil if it is not.
    private func delivery(_ deadline_ns: Int64, _ state: inout State) -> LateDelivery? {
        guard let submitted = state.extras?.pointee.submitted.take() else { return nil }
        return core.observer.value?.delivery(
            submitted,
            deadline_ns: deadline_ns,
            name: "source on \(core.name)",
            timer: state.timer ?? .stale,
            bound_ns: state.lateHandlers?.leastBound_ns ?? .max
        )
    }

    private func reporting(_ late: LateDelivery, _ state: borrowing State) -> Callback {
        let (observer, handlers) = (core.observer.value, state.lateHandlers)
        return Callback {
            observer?.report(late.call, late.explanation)
            handlers?.call(late.explanation.parts) { late.report }
        }
    }

    package func tickWasLeftOut(_ late: LateDelivery) {
        guard let handlers = withLock({ $0.alarm == nil ? $0.lateHandlers : nil }) else { return }
        var late = late
        late.call.name = "source on \(core.name)"
        handlers.call(late.explanation.parts) { late.report }
    }

    /// Returns a callback for the engine's thread, which reports for the engine by itself: it runs the event handler, and then
    /// calls the source's late handlers. `observer` explains the lateness when the call begins.
    func watchedInline(_ event: Callback, deadline_ns: Int64, _ state: borrowing State) -> Callback {
        guard let handlers = state.lateHandlers, state.alarm == nil, let observer = core.observer.value else {
            return event
        }
        let (timer, missed) = (state.timer ?? .stale, Int(clamping: state.data - 1))
        return Callback { [core] in
            let called_ns = core.time.now_ns
            guard handlers.isLate(called_ns.subtractingSaturating(deadline_ns)) else { return event.run() }
            let (monotonic_ns, explanation) = observer.explainCurrent(deadline_ns: deadline_ns, called_ns: called_ns)
            event.run()
            handlers.call(explanation.parts) {
                var call = LateCall(name: "source on \(core.name)", called_ns: monotonic_ns)
                call.timer = timer
                call.missedTicks = missed
                return LatenessReport(call, explanation)
            }
        }
    }
}
#endif
