import CHRTimer
import HRTimerCore

extension DisplayLink {
    /// One due refresh.
    func fire() {
        // Without a closure, which would give the handler wrapped.
        let link = state.lock()
        let handler = link.pointee.beginCall() ? link.pointee.handler : nil
        state.unlock()
        handler?(self)
        let isCalled = handler != nil
        rearm { state, now_ns in
            if isCalled { state.endCall(now_ns) }
        }
        state.withLock { $0.source }?.tend()
    }

    /// Before a precise call: it finds the link's state in the caches, which an idle processor has lost.
    func fetchState() {
        let link = state.lock()
        hrt_prefetch(link, MemoryLayout<LinkState>.size)
        state.unlock()
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
