import HRTimerCore

extension DisplayLink {
    /// One due refresh, of which nothing was made up before. `now_ns` is what the loop's clock reads.
    func fire(_ now_ns: Int64) {
        // Without a closure, which would give the handler wrapped.
        let link = state.lock()
        let handler = link.pointee.beginCall(now_ns) ? link.pointee.handler : nil
        state.unlock()
        handler?(self)
        endCall(isCalled: handler != nil)
    }

    /// Sets the next refresh, after a call that may have been made up.
    func endCall(isCalled: Bool, _ call: LinkCall? = nil) {
        rearm { state, now_ns in
            if let call { state.settle(call) }
            if isCalled { state.endCall(now_ns) }
        }
        state.withLock { $0.source }?.tend()
    }

    /// Its rate, at once; if it is held, there are no calls until it changes again.
    func sourceHasChanged(isHeld: Bool) {
        rearm { state, _ in
            state.isHeld = isHeld
            state.mustDivide()
        }
    }

    /// Changes what decides about the next call.
    func rearm(_ change: (inout LinkState, _ now_ns: Int64) -> Void) {
        var (timer, next_ns, changes) = state.withLock { state -> (LoopTimer?, Int64, UInt) in
            let now_ns = state.time.now_ns
            state.settle()
            change(&state, now_ns)
            state.changes &+= 1
            return (state.timer, state.aim(now_ns), state.changes)
        }
        while true {
            // Without the lock: the loop may end with this.
            timer?.fireInstant = MonotonicInstant(nanoseconds: next_ns)
            if state.withLock({ $0.changes == changes }) { return }
            // Another thread changed something meanwhile: its instant may just have been replaced by an older one.
            (timer, next_ns, changes) = state.withLock { state in
                (state.timer, state.aim(state.time.now_ns), state.changes)
            }
        }
    }
}
