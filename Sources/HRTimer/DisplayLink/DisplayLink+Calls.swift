#if os(Linux)
import HRTimerCore

extension DisplayLink {
    /// Calls the handler for a due refresh. `now_ns` is the reading of the loop's clock.
    func fire(_ now_ns: Int64) {
        // Without a closure: passed to one, the handler would be wrapped.
        let link = state.lock()
        if let delivery = link.pointee.delivery {
            state.unlock()
            return submit(by: delivery)
        }
        let handler = link.pointee.beginCall(now_ns) ? link.pointee.handler : nil
        let (handlers, lateness_ns) = (link.pointee.lateHandlers, link.pointee.reported.lateness_ns)
        state.unlock()
        if let handler, let handlers {
            callWatched(handler, handlers, now_ns, lateness_ns, nil)
        } else {
            handler?(self)
        }
        endCall(isCalled: handler != nil)
    }

    /// The source is served here, on the loop's thread; the rest is done where the handler runs. Until then the timer
    /// is not armed: a busy actor costs no wake-ups.
    private func submit(by delivery: LinkState.Delivery) {
        let source = state.withLock { state in
            if state.lateHandlers != nil, state.submitted == nil {
                // What kept the loop's thread is reported by the loop.
                state.submitted = SubmittedCall(submitted_ns: state.time.now_ns)
            }
            return state.source
        }
        source?.follow(after: self)
        delivery.calls.call(on: delivery.actor, unless: { !self.isInLoop }) { self.callOnActor() }
        source?.tend(after: self)
    }

    /// Calls for the latest refresh by now, unless it was called for already.
    private func callOnActor() {
        let link = state.lock()
        let now_ns = link.pointee.time.now_ns
        let handler = link.pointee.beginCall(now_ns) ? link.pointee.handler : nil
        let (handlers, lateness_ns) = (link.pointee.lateHandlers, link.pointee.reported.lateness_ns)
        let submitted = link.pointee.submitted.take()
        state.unlock()
        if let handler, let handlers {
            callWatched(handler, handlers, now_ns, lateness_ns, submitted)
        } else {
            handler?(self)
        }
        rearm(keepsDue: false) { state, now_ns in
            if handler != nil { state.endCall(now_ns) }
        }
    }

    /// Arms the next refresh, after a call.
    private func endCall(isCalled: Bool) {
        let source = state.withLock { $0.source }
        source?.follow(after: self)
        rearm(keepsDue: false) { state, now_ns in
            if isCalled { state.endCall(now_ns) }
        }
        source?.tend(after: self)
    }

    /// The instants of future refreshes have changed; while the link is held there are no calls.
    func sourceHasChanged(isHeld: Bool) {
        rearm { state, _ in state.hold(isHeld) }
    }

    /// Changes what determines the next call. A call that is due already is made all the same, unless `keepsDue` is
    /// false: it was made already, or was held back.
    func rearm(keepsDue: Bool = true, _ change: (inout LinkState, _ now_ns: Int64) -> Void) {
        var (timer, next_ns, changes) = state.withLock { state -> (LoopTimer?, Int64, UInt) in
            let now_ns = state.time.now_ns
            change(&state, now_ns)
            state.changes &+= 1
            let next_ns = state.resolveNextCall(now_ns, keepsDue: keepsDue)
            // The timer of a due call is left alone: moved, it would fire one pass later.
            return (state.isDue ? nil : state.timer, next_ns, state.changes)
        }
        while timer != nil {
            // Without the lock: the loop may end with this reference.
            timer?.fireInstant = MonotonicInstant(nanoseconds: next_ns)
            if state.withLock({ $0.changes == changes }) { return }
            // Another thread changed something meanwhile: this may just have replaced its instant by an older one.
            (timer, next_ns, changes) = state.withLock { state in
                (state.timer, state.resolveNextCall(state.time.now_ns, keepsDue: true), state.changes)
            }
        }
    }
}
#endif
