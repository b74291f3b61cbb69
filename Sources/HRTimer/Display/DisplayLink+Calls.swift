// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

extension DisplayLink {
    func withPlace<Result>(_ body: (inout LoopTimer.Link) -> Result) -> Result {
        lock.acquire()
        defer { lock.release() }
        return body(&place)
    }

    /// Calls `body` with the locks held that guard the state.
    func withState<Result>(_ body: (inout LinkState) -> Result) -> Result {
        withPlace { place in
            guard let core = place.core, !core.isInForkedChild else { return body(&state) }
            return core.state.withLock { _ in body(&state) }
        }
    }

    /// The core of the loop that the link is in.
    var loopCore: LoopCore? { withPlace { $0.core } }

    /// Changes the state, and then calls `inLoop` if the link is in a loop. Wakes that loop's thread if `inLoop` returns true. A
    /// call that was prepared before its deadline is withdrawn first.
    func update(
        _ change: (inout LinkState) -> Void = { _ in },
        inLoop: (LoopCore, inout LoopState, inout LoopTimer.Link) -> Bool
    ) {
        // Released without the lock: the link may have been the last that held it.
        var core: LoopCore?
        let mustWake = withPlace { place in
            core = place.core
            guard let core, !core.isInForkedChild else {
                change(&state)
                return false
            }
            return core.state.withLock { loop in
                let isWithdrawn = loop.core.withdraw(place.token)
                change(&state)
                return inLoop(core, &loop, &place) || isWithdrawn
            }
        }
        if mustWake { core?.waiter.wake() }
    }

    /// Changes the values that decide the next call, and arms the timer for it. A call that is already due is still made.
    func rearm(_ change: (inout LinkState) -> Void) {
        update(change) { core, loop, place in
            loop.core.isLive(place.token) && arm(place.token, &loop.core, core.time.now_ns)
        }
    }

    /// Arms the timer for the next call, with the loop's lock held. Returns true if the caller must wake the loop's thread. A due
    /// call is left alone: if it were armed again, it would come one pass later.
    func arm(_ token: TimerToken, _ core: inout FiringCore, _ now_ns: Int64) -> Bool {
        guard let next_ns = state.resolveNextCall(now_ns) else { return false }
        core.setOptions(TimerOptions(isPrecise: state.precision == .precise), for: token)
        core.place(token, next_ns)
        return core.mustWake(for: token, next_ns)
    }

    /// Arms the timer again after the instants of future refreshes have changed. While the link is held there are no calls.
    func sourceHasChanged(isHeld: Bool) {
        rearm { $0.hold(isHeld) }
    }
}

// The loop's core calls the first three with its lock held, which guards the state of a link in the loop.
extension DisplayLink: LoopOwner {
    package func shownDeadline_ns(_ armed_ns: Int64) -> Int64 { state.nextCall_ns }

    /// Begins the call, if it is on time, and if nothing but the handler is to be called. Every other call begins in `call`: it may
    /// still be withdrawn, belongs to an actor, or needs more than the core's state.
    package func prepare(_ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) -> Bool {
        let isPlain = !fire.isBeforeDeadline && delivery == nil && state.lateHandlers == nil
        fire.function = isPlain && state.beginCallOnTime(now_ns) ? state.handler : Self.call
        return true
    }

    /// Ends the call and arms the timer for the next one. An actor does that itself when it has made the call, so that a busy actor
    /// costs no wake-ups.
    package func finish(wasCalled: Bool, _ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) {
        // A link that was taken out may be in another loop by now, whose lock guards the state.
        guard wasCalled, fire.isTimerLive, delivery == nil else { return }
        state.endCall(now_ns)
        _ = arm(fire.token, &core, now_ns)
        fire.block = state.tending
    }

    func endCallElsewhere(by core: LoopCore, for deadline_ns: Int64, now_ns: Int64) {
        if delivery == nil { endCall() }
        // The loop may have ended during the call.
        coreHasEnded()
    }

    // Safe: the core passes the owner, which is the link.
    private static let call = OwnerFunction { link in unsafe unsafeDowncast(link, to: DisplayLink.self).call() }

    /// Makes a call that did not begin in `prepare`, on the loop's thread.
    private func call() {
        guard let delivery else { return callHandler() }
        let isWatched = withState { $0.lateHandlers != nil }
        if isWatched, let submitted = loopCore?.observer.reports?.submission() {
            withState { if $0.submitted == nil { $0.submitted = submitted } }
        }
        delivery.calls.call(on: delivery.actor) {
            self.callHandler()
            self.endCall()
        }
    }

    /// Calls the handler for the latest refresh by now, unless that refresh has had its call already, or the link is in no loop.
    private func callHandler() {
        var (handler, handlers): (OwnerFunction?, LateHandlers?)
        var submitted: SubmittedCall?
        var (now_ns, lateness_ns): (Int64, Int64) = (0, 0)
        update { core, loop, place in
            now_ns = core.time.now_ns
            submitted = state.submitted.take()
            guard state.beginCall(now_ns, without: { loop.runsWithout(place.token, now_ns: now_ns) }) else {
                return false
            }
            (handler, handlers, lateness_ns) = (state.handler, state.lateHandlers, state.reported.lateness_ns)
            return false
        }
        guard let handler else { return }
        guard let handlers else { return handler.call(self) }
        // An actor's call that was on its way when somebody began to watch.
        if delivery != nil, submitted == nil { submitted = SubmittedCall(submitted_ns: now_ns) }
        callWatched(handler, handlers, now_ns, lateness_ns, submitted)
    }

    /// Ends a call that was made on an actor, or whose link has left the loop, and arms the timer in the loop that the link is in.
    private func endCall() {
        var tending: Callback?
        rearm { state in
            state.endCall(state.time.now_ns)
            tending = state.tending
        }
        tending?.run()
    }
}
#endif
