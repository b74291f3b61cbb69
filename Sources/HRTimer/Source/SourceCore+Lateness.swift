// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

extension TimerSource {
    /// Calls `handler` with a report after each call of the event handler that is later than `bound`, where that call ran.
    ///
    /// The returned subscription may be dropped, or kept for `cancel()`.
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
            @safe let extras = state.makeExtras()
            if let handlers = extras.pointee.lateHandlers { return handlers }
            extras.pointee.lateHandlers = made
            return made
        }
    }

    /// Returns what submits a call on the engine's thread. On a watched engine it first keeps what is known of the submission.
    /// Under the lock.
    func submitting(_ state: borrowing State) -> Callback? {
        guard let submit = state.submit, state.alarm == nil, let observer = core.observer.reports else {
            return state.submit
        }
        return Callback { [self] in
            let call = observer.submission()
            withLock { state in state.makeExtras().pointee.submitted = call }
            submit.run()
        }
    }

    /// Notes a call submitted without the engine: the previous call still ran when this one was due, or it was armed that late.
    func noteSubmittedHere(_ state: inout State, now_ns: Int64, isAfterCall: Bool) {
        guard core.observer.reports != nil, state.alarm == nil else { return }
        var call = SubmittedCall(submitted_ns: now_ns)
        call.cause = isAfterCall ? .handlerBefore : .armedLate
        state.makeExtras().pointee.submitted = call
    }

    /// Returns a callback that makes the call for a deadline, and then tells those who watch if it was late; the call itself if
    /// nobody watches. `event` is nil for a tick that the policy leaves out. Under the lock.
    func watched(
        _ event: Callback?,
        deadline_ns: Int64,
        missed: Int,
        isSubmitted: Bool,
        _ state: inout State
    ) -> Callback? {
        guard let observer = core.observer.reports, state.alarm == nil else { return event }
        let submitted = isSubmitted ? state.extras?.pointee.submitted.take() : nil
        let handlers = state.lateHandlers
        guard submitted != nil || !isSubmitted && handlers != nil else { return event }
        let timer = state.timer ?? .stale
        return Callback { [core] in
            let now_ns = core.time.now_ns
            let late = observer.explain(submitted, of: timer, deadline_ns: deadline_ns, called_ns: now_ns)
            event?.run()
            guard var late else { return }
            late.name = "source on \(core.name)"
            (late.missedTicks, late.isLeftOut) = (missed, event == nil)
            // The engine itself reports calls on its own thread.
            if submitted != nil { observer.report(late) }
            handlers?.call(late)
        }
    }
}
#endif
