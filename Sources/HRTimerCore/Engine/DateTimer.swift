// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A timer of an engine that fires at dates.
///
/// To the core this is a timer whose own handler sets the next deadline after the user's has returned; see `DatePosition`
/// for why.
private final class DateTimer: WallClockListener {
    /// Held until the timer is cancelled or the engine ends, either of which frees this object.
    private let core: EngineCore
    private let state: Locked<State>

    private struct State: Sendable {
        var position: DatePosition
        var token = TimerToken.stale
        /// Whether a call is under way, and whether the clock was set meanwhile, so that the call must look at its end.
        var isCalling = false
        var wasSet = false
    }

    private let handler: @Sendable (TimerFire) -> Void

    init(_ core: EngineCore, _ position: DatePosition, _ handler: @escaping @Sendable (TimerFire) -> Void) {
        self.core = core
        state = Locked(State(position: position))
        self.handler = handler
    }

    /// Must be called once, when the timer is in the core. A step of the clock after `begun_ns` counts.
    func belong(to token: TimerToken, since begun_ns: Int64) {
        state.withLock { $0.token = token }
        if core.time.clock != .wall { return }
        WallClockSteps.notify(self, in: core.time)
        if core.time.now_ns < begun_ns { wallClockWasSet() }
    }

    /// Has the timer wait for the first date from now on, if that is earlier than its next one: after a step back.
    func wallClockWasSet() {
        let now_ns = core.time.now_ns
        let move = state.withLock { state -> (token: TimerToken, former_ns: Int64, next_ns: Int64)? in
            if state.isCalling {
                state.wasSet = true
                return nil
            }
            let former_ns = state.position.deadline_ns
            guard state.position.setClockBack(to: now_ns) else { return nil }
            return (state.token, former_ns, state.position.deadline_ns)
        }
        guard let (token, former_ns, next_ns) = move else { return }
        // An instant to which somebody moved the call stays.
        _ = core.arm(token, deadline_ns: next_ns, ifStill: { $0.deadline_ns(of: token) == former_ns })
    }

    /// Runs on the engine's thread. The calls of one timer follow each other: only a step of the clock takes the lock beside them.
    func fire(_ fire: TimerFire) {
        let missed = state.withLock { state in
            state.isCalling = true
            state.position.move(to: fire.deadline.nanoseconds)
            return state.position.begin(now_ns: fire.firedAt.nanoseconds)
        }
        if let missed {
            core.state.withLock { $0.countMissed(UInt(missed)) }
            handler(
                TimerFire(
                    token: fire.token,
                    deadline_ns: fire.deadline.nanoseconds,
                    firedAt_ns: fire.firedAt.nanoseconds,
                    missedTicks: missed
                )
            )
        }
        let now_ns = core.time.now_ns
        let deadline_ns = state.withLock { state in
            state.position.end(now_ns: now_ns)
            if state.wasSet { _ = state.position.setClockBack(to: now_ns) }
            state.wasSet = false
            return state.position.deadline_ns
        }
        core.armNext(fire.token, deadline_ns: deadline_ns)
        let wasSet = state.withLock { state in
            state.isCalling = false
            defer { state.wasSet = false }
            return state.wasSet
        }
        if wasSet { wallClockWasSet() }
    }
}

extension EngineCore {
    /// Calls `handler` at each date; the dates are on the engine's clock. Returns a stale token if there is no date.
    package func schedule(
        at position: DatePosition,
        _ request: TimerRequest,
        _ handler: @escaping @Sendable (TimerFire) -> Void
    ) -> TimerToken {
        if position.deadline_ns == .max { return .stale }
        let begun_ns = time.now_ns
        let timer = DateTimer(self, position, handler)
        var request = request
        request.deadline_ns = position.deadline_ns
        // The timer repeats, so there is a next call, but that call never comes by itself.
        request.repetition = Recurrence(interval: ExactInterval(whole_ns: .max), policy: .burst)
        let token = schedule(.handler { timer.fire($0) }, request)
        if token != .stale { timer.belong(to: token, since: begun_ns) }
        return token
    }

    /// Sets, in a timer's handler, when it fires next: `Int64.max` for never. Does nothing if somebody cancelled or moved
    /// the timer since the call.
    fileprivate func armNext(_ token: TimerToken, deadline_ns: Int64) {
        if deadline_ns < .max {
            _ = arm(token, deadline_ns: deadline_ns, ifStill: { $0.isUntouchedSinceCall(token) })
        } else if state.withLock({ $0.isUntouchedSinceCall(token) }) {
            _ = cancel(token)
        }
    }
}
#endif
