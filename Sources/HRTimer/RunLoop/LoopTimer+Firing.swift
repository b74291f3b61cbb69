import HRTimerCore

extension LoopTimer {
    /// Calls the handler now, on the calling thread, whatever the mode, in or out of a loop.
    ///
    /// The schedule of a repeating timer stays as it is. One that does not repeat is invalid afterwards, even though its
    /// deadline has not come. Does nothing on an invalid timer. Not guarded against a handler that calls `fire()`.
    public func fire() {
        let (handler, repeats) = state.withLock { state -> (Handler?, Bool) in
            if state.handler != nil { state.lastFired_ns = state.deadline_ns }
            return (state.handler, state.repetition.repeats)
        }
        guard let handler else { return }
        handler(self)
        if !repeats { invalidate() }
    }

    /// The loop's call for a timer it took as due at `now_ns`.
    func fireDue(_ now_ns: Int64, on loop: TimerLoop) {
        guard let call = beginFiring(now_ns, loop) else { return }
        call.handler(self)
        switch endFiring(loop) {
        case .armed: break
        case .fired: invalidate()
        // The handler took it out of the loop and put it into another, which left it alone until now.
        case .elsewhere: rearm()
        }
    }

    private enum AfterFiring { case armed, fired, elsewhere }

    /// Nil if there is nothing to call: invalid, or a tick that the policy leaves out.
    private func beginFiring(_ now_ns: Int64, _ loop: TimerLoop) -> Call? {
        state.withLock { state -> Call? in
            // The loop holds a deadline of no timer that is firing; moved ones are armed when the handler has returned.
            guard let handler = state.handler, !state.isFiring, state.isIn(loop) else { return nil }
            var ticks = TickCount(deadline_ns: state.deadline_ns, untold: state.uncountedTicks)
            guard let told = state.repetition.begin(&ticks, now_ns: now_ns) else {
                state.uncountedTicks = ticks.untold
                Self.arm(at: ticks.deadline_ns, &state, loop)
                return nil
            }
            state.isFiring = true
            state.isMoved = false
            state.lastFired_ns = state.deadline_ns
            state.missedTicks = told
            state.ticksAfter = ticks
            return Call(handler: handler)
        }
    }

    /// A struct for the reason of `Freed`.
    private struct Call {
        let handler: Handler
    }

    private func endFiring(_ loop: TimerLoop) -> AfterFiring {
        state.withLock { state in
            state.isFiring = false
            guard state.handler != nil else { return .armed }
            guard state.repetition.repeats else { return .fired }
            if state.isMoved {
                state.uncountedTicks = 0
            } else {
                state.repetition.end(&state.ticksAfter, now_ns: loop.time.now_ns)
                state.deadline_ns = state.ticksAfter.deadline_ns
                state.uncountedTicks = state.ticksAfter.untold
            }
            guard state.isIn(loop) else { return .elsewhere }
            Self.arm(at: state.deadline_ns, &state, loop)
            return .armed
        }
    }

    private static func arm(at deadline_ns: Int64, _ state: inout State, _ loop: TimerLoop) {
        state.deadline_ns = deadline_ns
        guard let token = state.token else { return }
        // The loop is awake: this is its thread.
        _ = loop.arm(token, state.arming)
    }
}
