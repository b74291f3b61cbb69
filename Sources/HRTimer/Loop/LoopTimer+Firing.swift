// SPDX-License-Identifier: Apache-2.0
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
            state.call?.missedTicks = 0
            return Call(handler: handler, repeats: state.schedule.recurrence.repeats)
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
extension LoopTimer: LoopOwner {
    // A loop's timer is moved in the core at once.
    package func laterDeadline(_ core: inout FiringCore, than armed_ns: Int64) -> Int64? { nil }

    package func shownDeadline_ns(_ armed_ns: Int64) -> Int64 { state.deadline_ns }

    package func prepare(_ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) -> Bool {
        switch state.beginCall(now_ns: now_ns) {
        case .call(let missed, _):
            fire.function = state.handler
            fire.missedTicks = missed
            return true
        case .leftOut(let missed):
            fire.leftOut = missed
            arm(fire.token, &core)
            return false
        }
    }

    package func finish(wasCalled: Bool, _ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) {
        // A timer that was taken out may be in another loop by now, whose lock guards the state.
        guard fire.isTimerLive else { return }
        if !wasCalled {
            state.call = nil
        } else if state.endCall(for: fire.deadline_ns, now_ns: now_ns) {
            arm(fire.token, &core)
        } else {
            fire.removesTimer = true
            state.takeReferences(&fire.released)
        }
    }

    package func coreHasEnded() { invalidate() }

    func arm(_ timer: TimerToken, _ core: inout FiringCore) {
        core.setOptions(state.options, for: timer)
        core.place(timer, state.deadline_ns)
    }
}

// The calls of a pass.
extension TimerLoop {
    /// Fires the timers of the pass. The first call is already prepared as of `now_ns`; nil if there is none.
    ///
    /// One reading of the clock serves as the end of a call and as the begin of the next one.
    func fireDueTimers(_ fire: inout Fire, at now_ns: Int64?) {
        guard var now_ns else { return }
        repeat {
            fire.deliver(now_ns, on: core.time, core.observer.value)
            now_ns = core.time.now_ns
        } while finishAndPrepareNext(&fire, &now_ns)
    }

    /// Ends a call and prepares the next one: in one critical section, if nothing is left to do without the lock in between.
    /// Returns false if there is none.
    private func finishAndPrepareNext(_ fire: inout Fire, _ now_ns: inout Int64) -> Bool {
        let (after, hasNext) = core.state.withLock { loop in
            let after = loop.finish(&fire, now_ns: now_ns, wasCalled: true)
            return (after, after == .armed && loop.prepareNext(now_ns: now_ns, &fire))
        }
        if after == .armed { return hasNext }
        switch after {
        case .armed, .unfinished: break
        // Of a loop's owners, only its timers end by themselves.
        case .ended: (fire.takeOwner() as? LoopTimer)?.leave(core, fire.token)
        case .elsewhere:
            let (owner, deadline_ns) = (fire.takeOwner() as? any LoopOwner, fire.deadline_ns)
            owner?.endCallElsewhere(by: core, for: deadline_ns, now_ns: now_ns)
        }
        fire.letGo()
        now_ns = core.time.now_ns
        return core.state.withLock { $0.prepareNext(now_ns: now_ns, &fire) }
    }
}
#endif
