extension TimerLoop {
    /// Has the loop fire the timer when it runs in `mode`. The loop holds the timer until it is invalidated or has fired
    /// for the last time.
    ///
    /// A timer may be in many modes of one loop; it has one deadline all the same. Adding it twice to a mode, adding an
    /// invalid one, or one that is in another loop already, does nothing. Any thread.
    public func add(_ timer: LoopTimer, forMode mode: Mode) {
        timer.attach(to: self, mode)
    }

    /// Takes the timer out of one mode. It stays valid; out of its last mode the loop lets go of it, and it may be added to
    /// a loop again. Any thread.
    public func remove(_ timer: LoopTimer, forMode mode: Mode) {
        timer.detach(from: self, mode)
    }

    /// Whether the timer is in that mode of this loop, by itself or, for a common mode, because it was added for `.common`.
    public func contains(_ timer: LoopTimer, forMode mode: Mode) -> Bool {
        timer.token(in: self).map { token in
            state.withLock { state in
                guard state.timers.isLive(token), let index = state.modes.known(mode) else { return false }
                return state.timers.records[token.slot].modes.intersects(state.modes.served(in: index))
            }
        } ?? false
    }

    /// Counts `mode` among the common ones: what was or will be added for `.common` is served in it too. There is no way
    /// back. Any thread.
    public func addCommonMode(_ mode: Mode) {
        let mustWake = state.withLock { state in
            state.modes.makeCommon(mode)
            for index in state.runs.indices {
                state.runs[index].served = state.modes.served(in: state.runs[index].index)
            }
            return state.mustWakeNow()
        }
        if mustWake { waiter.wake() }
    }

}

// For timers, which hold their own lock; the loop's comes second.
extension TimerLoop {
    /// Nil if the loop has ended.
    func addTimer(_ timer: LoopTimer, to mode: Mode) -> TimerToken? {
        state.withLock { $0.isEnded ? nil : $0.addTimer(timer, to: mode) }
    }

    /// True if the loop must be woken, as are the results of the next.
    func addMode(_ mode: Mode, to token: TimerToken) -> Bool {
        state.withLock { state in
            state.addMode(mode, to: token)
            return state.mustWakeNow()
        }
    }

    func arm(_ token: TimerToken, _ arming: LoopState.Arming) -> Bool {
        state.withLock { state in
            state.arm(token, arming)
            return state.mustWake(for: arming)
        }
    }

    /// The record is given back to be let go without a lock.
    func forget(_ token: TimerToken) -> LoopState.TimerRecord? {
        remove { $0.removeTimer(token) }
    }

    /// The record if that was the timer's last mode.
    func removeTimer(_ token: TimerToken, from mode: Mode) -> LoopState.TimerRecord? {
        remove { $0.removeTimer(token, from: mode) }
    }

    /// Ends a run on another thread that has nothing left to wait for, which would sleep on until the timer's deadline.
    private func remove(_ body: (inout LoopState) -> LoopState.TimerRecord?) -> LoopState.TimerRecord? {
        let (record, mustWake) = state.withLock { state in (body(&state), state.mustWakeToEnd()) }
        if mustWake { waiter.wake() }
        return record
    }
}
