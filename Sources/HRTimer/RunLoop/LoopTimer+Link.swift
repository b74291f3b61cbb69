#if os(Linux)
import HRTimerCore

extension LoopTimer {
    /// The loop that a timer is in, and its token there. If the loop has already released the timer, the token is stale.
    struct Link: Sendable {
        var core: LoopCore?
        var token = TimerToken.stale
    }
}

// Lock order: first the timer's lock, then the loop's.
extension LoopTimer {
    func withLink<Result>(_ body: (inout Link) -> Result) -> Result {
        lock.acquire()
        defer { lock.release() }
        return body(&link)
    }

    /// Calls `body` with the locks held that guard the state.
    func withState<Result>(_ body: (inout State) -> Result) -> Result {
        withLink { link in
            guard let core = link.core else { return body(&state) }
            return core.state.withLock { _ in body(&state) }
        }
    }

    /// Calls `body` with those locks held and the time of the timer's loop, or the current time if the timer is in no loop.
    func withState<Result>(_ body: (inout State, TimeBase) -> Result) -> Result {
        withLink { link in
            guard let core = link.core else { return body(&state, .current) }
            return core.state.withLock { _ in body(&state, core.time) }
        }
    }

    /// Whether this is a forked child and the timer in a loop of the parent: the timer is then invalid, and left alone.
    var isInForkedChild: Bool { withLink { $0.core?.isInForkedChild ?? false } }

    /// Changes what decides about the next call, and updates the loop. `body` gets the time of the loop, or nil.
    func update(_ body: (inout State, TimeBase?) -> Void) {
        let toWake = withLink { link -> LoopCore? in
            guard let core = link.core else {
                body(&state, nil)
                return nil
            }
            if core.isInForkedChild { return nil }
            return core.state.withLock { loop in
                let isWithdrawn = loop.withdraw(link.token, &state)
                body(&state, core.time)
                return rearm(link.token, &loop) || isWithdrawn ? core : nil
            }
        }
        toWake?.waiter.wake()
    }

    /// Arms the timer, unless its handler runs: then it is armed afterwards. Returns true if the caller must wake the loop.
    private func rearm(_ token: TimerToken, _ loop: inout LoopState) -> Bool {
        guard !state.isFiring, loop.core.isLive(token) else { return false }
        arm(token, &loop.core)
        return loop.core.mustWake(for: token, state.deadline_ns)
    }

    /// The result of adding a timer.
    private enum Attachment {
        case added(mustWake: Bool), addedAgain(mustWake: Bool)
        case ended, released, invalid, elsewhere
    }

    func attach(to loop: TimerLoop, _ mode: TimerLoop.Mode) {
        let core = loop.core
        var released = Released()
        followed?.prepare(core.time)
        let attachment = withLink { link -> Attachment in
            if link.core == nil {
                guard state.handler != nil else { return .invalid }
                return core.state.withLock { loop in
                    if loop.isEnded {
                        state.takeReferences(&released)
                        return .ended
                    }
                    link.token = loop.addTimer(self, keepsRunning: state.keepsLoopRunning, to: mode)
                    link.core = core
                    state.resolveDeadline(core.time)
                    return .added(mustWake: rearm(link.token, &loop))
                }
            }
            guard link.core === core else { return .elsewhere }
            if core.isInForkedChild { return .released }
            return core.state.withLock { loop in
                guard loop.core.isLive(link.token) else { return loop.isEnded ? .ended : .released }
                let isWithdrawn = loop.withdraw(link.token, &state)
                loop.addMode(mode, to: link.token)
                return .addedAgain(mustWake: loop.mustWakeNow() || isWithdrawn)
            }
        }
        switch attachment {
        case .added(let mustWake):
            if mustWake { core.waiter.wake() }
            if UsageWarning.isLookedFor { loop.watchForRun() }
        case .addedAgain(let mustWake):
            if mustWake { core.waiter.wake() }
        case .ended: if UsageWarning.isLookedFor { loop.reportTimerAfterEnd() }
        case .released: break
        case .invalid: reportNotAdded(isValid: false)
        case .elsewhere: reportNotAdded(isValid: true)
        }
        withExtendedLifetime(released) {}
    }

    func detach(from loop: TimerLoop, _ mode: TimerLoop.Mode) {
        let core = loop.core
        var mustWake = false
        var target: TimerTarget?
        withLink { link in
            guard link.core === core, !core.isInForkedChild else { return }
            let isOut = core.state.withLock { loop in
                let isWithdrawn = loop.withdraw(link.token, &state)
                let isOut = loop.removeTimer(link.token, from: mode, &target)
                if isOut {
                    state.noteFormerLoop(loop.core.callingThread)
                }
                mustWake = loop.mustWakeToEnd() || isWithdrawn
                return isOut
            }
            if isOut { link = Link() }
        }
        if mustWake { core.waiter.wake() }
        withExtendedLifetime(target) {}
    }

    var isInLoop: Bool { withLink { $0.core != nil } }

    func isIn(_ loop: TimerLoop, mode: TimerLoop.Mode) -> Bool {
        withLink { link in
            guard link.core === loop.core, !loop.core.isInForkedChild else { return false }
            return loop.core.state.withLock { loop in
                guard loop.core.isLive(link.token), let index = loop.modes.known(mode) else { return false }
                return loop.modes.contains(loop.core.group(of: link.token), index)
            }
        }
    }

    /// Clears the link when the loop has released the timer, which has fired for the last time.
    func leave(_ core: LoopCore, _ token: TimerToken) {
        withLink { link in
            if link.core === core, link.token == token { link = Link() }
        }
    }

    /// Ends the call that a loop has made of a timer that is no longer in that loop. What the handler set counts from now on: in
    /// another loop, which left the timer alone until now, or when the timer is added to one. A timer that the loop still had
    /// when it ended is invalid.
    func endCallElsewhere(by core: LoopCore, now_ns: Int64) {
        let hasLoopEnded = withLink { link in
            link.core === core && !core.isInForkedChild && core.state.withLock { $0.isEnded }
        }
        var hasEnded = false
        var released = Released()
        var ending: Ending?
        update { state, _ in
            hasEnded = !state.endCall(now_ns: now_ns)
            ending = state.extras?.ending
            if ending != nil { released.object = state.extras.take() }
        }
        if hasLoopEnded {
            coreHasEnded()
        } else if hasEnded {
            end(isRevoked: false)
        }
        ending?.latch.open()
        withExtendedLifetime(released) {}
    }
}
#endif
