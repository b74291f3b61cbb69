// For owners that ask for more than a deadline, as a source with a precision of its own does.
extension EngineState {
    /// `setOwned(_:deadline_ns:tolerance_ns:_:)` for a timer that asks for a precision too. Whoever does not any more says so
    /// by `askNothing(for:)`.
    @inline(never)
    package mutating func setOwned(
        _ token: TimerToken,
        deadline_ns: Int64,
        _ asked: TimerSchedule.Asked,
        _ now_ns: @autoclosure () -> Int64
    ) -> Bool {
        if isShutDown { return false }
        let isCalledOff = callOff(token)
        schedule.ask(asked, for: token)
        if deadline_ns == .max {
            schedule.disarm(token)
            return isCalledOff
        }
        setDeadline(token, deadline_ns)
        return mustWake(for: token, deadline_ns, now_ns()) || isCalledOff
    }

    /// From its next arming on.
    package mutating func askNothing(for token: TimerToken) {
        if !isShutDown { schedule.ask(TimerSchedule.Asked(), for: token) }
    }

    /// A timer for an owner, not armed yet. Stale if the engine has ended.
    package mutating func addOwned(_ owner: any StagedHandler) -> TimerToken {
        if isShutDown { return .stale }
        var request = EngineCore.Request()
        request.isOwned = true
        return add(.staged(owner), request)
    }

    /// The owner's timer is none any more. The action, nil before, is to be let go after the lock. True if the thread must be
    /// woken.
    package mutating func removeOwned(_ token: TimerToken, _ action: inout EngineCore.Action?) -> Bool {
        guard !isShutDown, schedule.isLive(token) else { return false }
        let cancelled = cancel(token)
        action = cancelled.action
        return cancelled.mustWake
    }
}
