#if os(Linux)
/// A timer of an engine that fires at dates.
///
/// For the core it is one whose next deadline its own handler sets, when that has returned: see `DatePosition` for why.
private final class DateTimer: Sendable {
    /// Until the timer is cancelled or the engine ends, which frees this object.
    private let core: EngineCore
    private let position: Locked<DatePosition>
    private let handler: @Sendable (TimerFire) -> Void

    init(_ core: EngineCore, _ position: DatePosition, _ handler: @escaping @Sendable (TimerFire) -> Void) {
        self.core = core
        self.position = Locked(position)
        self.handler = handler
    }

    /// On the engine's thread. Only one at a time has the position's lock, which keeps nobody waiting: the calls of one timer
    /// follow each other.
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
    /// Calls `handler` at each date; the dates are the engine's clock's. Without any the token is stale.
    package func schedule(
        at position: DatePosition,
        _ request: TimerRequest,
        _ handler: @escaping @Sendable (TimerFire) -> Void
    ) -> TimerToken {
        if position.deadline_ns == .max { return .stale }
        let timer = DateTimer(self, position, handler)
        var request = request
        request.deadline_ns = position.deadline_ns
        // There is a next call, which never comes by itself.
        request.repetition = Recurrence(interval: ExactInterval(whole_ns: .max), policy: .burst)
        return schedule(.handler { timer.fire($0) }, request)
    }

    /// Says in a timer's handler when it fires next, `Int64.max` for never, if nobody cancelled or moved it since the call.
    fileprivate func armNext(_ token: TimerToken, deadline_ns: Int64) {
        if deadline_ns < .max {
            _ = arm(token, deadline_ns) { $0.isUntouchedSinceCall(token) && $0.arm(token, deadline_ns, nil) }
        } else if state.withLock({ $0.isUntouchedSinceCall(token) }) {
            _ = cancel(token)
        }
    }
}
#endif
