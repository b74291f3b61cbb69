#if os(Linux)
import CHRTimer
import HRTimerCore
import Synchronization

extension LoopTimer {
    /// Calls the handler now, on the calling thread, in any mode, in or out of a loop.
    ///
    /// The schedule of a repeating timer stays as it is, and this call makes no tick count as missed. A timer that does not
    /// repeat is invalid afterwards, even if its deadline has not come. Does nothing on an invalid timer. There is no
    /// protection against a handler that calls `fire()`.
    public func fire() {
        if isInForkedChild { return }
        let call = withState { state -> Call? in
            guard let handler = state.handler else { return nil }
            state.lastFired_ns = state.deadline_ns
            state.missedTicks = 0
            return Call(handler: handler, repeats: state.repetition.repeats)
        }
        guard let call else { return }
        call.handler.call(self)
        if !call.repeats { end(isRevoked: false) }
    }

    private struct Call {
        let handler: OwnerFunction
        let repeats: Bool
    }
}

// The loop's core calls these with its lock held, which guards the state of a timer in the loop; `coreHasEnded` without it.
extension LoopTimer: TimerOwner {
    // A loop's timer is moved in the core at once.
    package func laterDeadline(_ core: inout FiringCore, than armed_ns: Int64) -> Int64? { nil }

    package func prepare(_ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) -> Bool {
        if fire.isBeforeDeadline { core.before = state.beforeCall }
        let unreported = state.ticks.unreported
        guard state.beginCall(now_ns: now_ns, &fire.function) else {
            fire.leftOut = state.ticks.unreported - unreported
            arm(fire.token, &core)
            return false
        }
        fire.isLent = true
        fire.missedTicks = state.missedTicks
        return true
    }

    package func finish(wasCalled: Bool, _ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) {
        // A call that was withdrawn never has a reference of its own. Its timer may be in another loop by now, whose lock guards
        // the state.
        if !wasCalled || !state.isHandlerKept { giveBack(&fire.function) }
        guard fire.isTimerLive else { return }
        if !wasCalled {
            if !core.isRestored { state.restore(core.before) }
        } else if state.endCall(now_ns: now_ns) {
            arm(fire.token, &core)
        } else {
            fire.removesTimer = true
            state.takeReferences(&fire.released)
        }
    }

    package func coreHasEnded() { invalidate() }

    @inline(__always)
    func arm(_ timer: TimerToken, _ core: inout FiringCore) {
        core.setOptions(state.options, for: timer)
        core.arm(timer, deadlineOfOwner_ns: state.deadline_ns)
    }
}

// The calls of a pass.
extension TimerLoop {
    /// Fires the timers of the pass. The first call is already prepared as of `now_ns`; nil if there is none.
    func fireDueTimers(_ first: inout Fire, _ second: inout Fire, at now_ns: Int64?) {
        guard var now_ns else { return }
        while true {
            guard let then_ns = fire(&first, at: now_ns, preparing: &second) else { return }
            guard let next_ns = fire(&second, at: then_ns, preparing: &first) else { return }
            now_ns = next_ns
        }
    }

    /// Makes a call and prepares the next one. Returns the reading of the clock for the next call; nil if there is none.
    ///
    /// A call's lateness is judged when the call before it has returned. One reading of the clock serves as the end of that
    /// call and as the begin of the next one.
    @inline(never)
    private func fire(_ fire: inout Fire, at now_ns: Int64, preparing next: inout Fire) -> Int64? {
        if core.isWatched.load(ordering: .relaxed) {
            core.deliverWatched(&fire, now_ns)
        } else {
            // Without the time, if it is not needed: that would count a reference.
            fire.deliver(now_ns, on: fire.isBeforeDeadline ? core.time : nil)
        }
        let after_ns = core.time.now_ns
        // Without a closure, which would keep copies of what it captures.
        let loop = core.state.lock()
        let after = loop.pointee.finish(&fire, now_ns: after_ns, wasCalled: true)
        let hasNext = loop.pointee.prepareNext(now_ns: after_ns, &next)
        core.state.unlock()
        if after != .armed { leave(after, &fire, after_ns) }
        return hasNext ? after_ns : nil
    }

    /// Does what remains to be done without the lock after a call.
    @inline(never)
    private func leave(_ after: LoopState.AfterCall, _ fire: inout Fire, _ now_ns: Int64) {
        // Before the threads that wait for the end of the call go on.
        fire.function = nil
        switch after {
        case .armed, .unfinished: break
        case .ended: fire.takeTimer()?.leave(core, fire.token)
        case .elsewhere: fire.takeTimer()?.endCallElsewhere(by: core, now_ns: now_ns)
        }
        fire.letGo()
    }
}
#endif
