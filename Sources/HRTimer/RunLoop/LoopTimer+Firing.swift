import HRTimerCore

extension LoopTimer {
    /// Calls the handler now, on the calling thread, whatever the mode, in or out of a loop.
    ///
    /// The schedule of a repeating timer stays as it is, and no tick counts as missed by this call. One that does not repeat is
    /// invalid afterwards, even though its deadline has not come. Does nothing on an invalid timer. Not guarded against a
    /// handler that calls `fire()`.
    public func fire() {
        if isInherited { return }
        let call = withState { state -> Call? in
            guard let handler = state.handler else { return nil }
            state.lastFired_ns = state.deadline_ns
            state.missedTicks = 0
            return Call(handler: handler, repeats: state.repetition.repeats)
        }
        guard let call else { return }
        call.handler(self)
        if !call.repeats { end(isRevoked: false) }
    }

    /// A struct for the reason of `TimerCall`.
    private struct Call {
        let handler: Handler
        let repeats: Bool
    }
}

// The calls of a pass.
extension TimerLoop {
    /// Fires what the pass took, beginning with a call that has begun already.
    ///
    /// Lateness is judged when the call before has returned: one reading of the clock for the end of that and for the next
    /// begin.
    func fireDueTimers(_ first: consuming TimerCall?) {
        var next = first
        let core = core
        while let call = next.take() {
            call.handler(call.timer)
            let now_ns = core.time.now_ns
            var released = ReleasedTimer()
            // Without a closure, which would keep copies of what it captures, and give what it finds as one more.
            let loop = core.state.lock()
            let after = loop.pointee.finish(call.token, call.timer, now_ns: now_ns, &released)
            next = loop.pointee.nextCall(now_ns: now_ns)
            core.state.unlock()
            switch after {
            case .armed: break
            case .ended: call.timer.leave(core, call.token)
            case .elsewhere: call.timer.endCallElsewhere(now_ns: now_ns)
            }
        }
    }
}
