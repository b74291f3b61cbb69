#if os(Linux)
/// A timer of an engine that fires at dates.
///
/// To the core this is a timer whose own handler sets the next deadline after the user's has returned; see `DatePosition`
/// for why.
private final class DateTimer: Sendable {
    /// Held until the timer is cancelled or the engine ends, either of which frees this object.
    private let core: EngineCore
    private let position: Locked<DatePosition>
    private let handler: @Sendable (TimerFire) -> Void

    init(_ core: EngineCore, _ position: DatePosition, _ handler: @escaping @Sendable (TimerFire) -> Void) {
        self.core = core
        self.position = Locked(position)
        self.handler = handler
    }

    /// Runs on the engine's thread. Only one call at a time takes the position's lock, so nobody waits for it: the calls of
    /// one timer follow each other.
    func fire(_ fire: TimerFire) {
        let missed = position.withLock { position in
            position.move(to: fire.deadline.nanoseconds)
            return position.begin(now_ns: fire.firedAt.nanoseconds)
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
        let deadline_ns = position.withLock { position in
            position.end(now_ns: now_ns)
            return position.deadline_ns
        }
        core.armNext(fire.token, deadline_ns: deadline_ns)
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
        let timer = DateTimer(self, position, handler)
        var request = request
        request.deadline_ns = position.deadline_ns
        // The timer repeats, so there is a next call, but that call never comes by itself.
        request.repetition = Recurrence(interval: ExactInterval(whole_ns: .max), policy: .burst)
        return schedule(.handler { timer.fire($0) }, request)
    }

    /// Sets, in a timer's handler, when it fires next: `Int64.max` for never. Does nothing if somebody cancelled or moved
    /// the timer since the call.
    fileprivate func armNext(_ token: TimerToken, deadline_ns: Int64) {
        if deadline_ns < .max {
            _ = arm(token, deadline_ns) { $0.isUntouchedSinceCall(token) && $0.arm(token, deadline_ns, nil) }
        } else if state.withLock({ $0.isUntouchedSinceCall(token) }) {
            _ = cancel(token)
        }
    }
}
#endif
