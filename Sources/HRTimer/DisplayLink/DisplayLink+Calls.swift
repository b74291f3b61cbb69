#if os(Linux)
import HRTimerCore

extension DisplayLink {
    /// Calls the handler for a due refresh. `now_ns` is the present reading of the loop's clock.
    func fire(_ now_ns: Int64) {
        // Locks without a closure: a handler that is passed through a closure would be wrapped.
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

    /// Submits the call to the handler's actor. The loop's thread serves the source here; the rest is done where the handler
    /// runs. The timer is not armed again until then, so a busy actor costs no wake-ups.
    private func submit(by delivery: LinkState.Delivery) {
        let (source, watched) = state.withLock { ($0.source, $0.lateHandlers == nil ? nil : $0.loop) }
        if let submitted = watched?.core.observer.reports?.submission() {
            state.withLock { if $0.submitted == nil { $0.submitted = submitted } }
        }
        source?.follow(after: self)
        delivery.calls.call(on: delivery.actor, unless: { !self.isInLoop }) { self.callOnActor() }
        source?.tend(after: self)
    }

    /// Calls the handler for the latest refresh by now, unless that refresh has had its call already.
    private func callOnActor() {
        let link = state.lock()
        let now_ns = link.pointee.time.now_ns
        let handler = link.pointee.beginCall(now_ns) ? link.pointee.handler : nil
        let (handlers, lateness_ns) = (link.pointee.lateHandlers, link.pointee.reported.lateness_ns)
        let submitted = link.pointee.submitted.take()
        state.unlock()
        if let handler, let handlers {
            callWatched(handler, handlers, now_ns, lateness_ns, submitted ?? SubmittedCall(submitted_ns: now_ns))
        } else {
            handler?(self)
        }
        rearm(keepsDue: false) { state, now_ns in
            if handler != nil { state.endCall(now_ns) }
        }
    }

    /// Arms the timer for the next refresh, after a call.
    private func endCall(isCalled: Bool) {
        let source = state.withLock { $0.source }
        source?.follow(after: self)
        rearm(keepsDue: false) { state, now_ns in
            if isCalled { state.endCall(now_ns) }
        }
        source?.tend(after: self)
    }

    /// Arms the timer again after the instants of future refreshes have changed. While the link is held there are no calls.
    func sourceHasChanged(isHeld: Bool) {
        rearm { state, _ in state.hold(isHeld) }
    }

    /// Applies a change to the values that determine the next call, and arms the timer for it. A call that is already due is
    /// still made, unless `keepsDue` is false: then it was made already, or was held back.
    func rearm(keepsDue: Bool = true, _ change: (inout LinkState, _ now_ns: Int64) -> Void) {
        var (timer, next_ns, changes) = state.withLock { state -> (LoopTimer?, Int64, UInt) in
            let now_ns = state.time.now_ns
            change(&state, now_ns)
            state.changes &+= 1
            let next_ns = state.resolveNextCall(now_ns, keepsDue: keepsDue)
            // The timer of a due call is left alone: if it were rescheduled, it would fire one pass later.
            return (state.isDue ? nil : state.timer, next_ns, state.changes)
        }
        while timer != nil {
            // Set without the lock: the loop may end when this reference is released.
            timer?.fireInstant = MonotonicInstant(nanoseconds: next_ns)
            if state.withLock({ $0.changes == changes }) { return }
            // Another thread changed something meanwhile: this thread may just have replaced a newer instant by an older one.
            (timer, next_ns, changes) = state.withLock { state in
                (state.timer, state.resolveNextCall(state.time.now_ns, keepsDue: true), state.changes)
            }
        }
    }
}
#endif
