// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

extension LoopTimer {
    /// How much later than its nominal deadline each call of a repeating timer comes, at random; nil, as at first, for none.
    ///
    /// The grid does not move with it.
    ///
    /// A new value counts at once; one without a seed gets one. As soon as the timer is in a loop, `fireInstant` includes the
    /// jitter; an instant that is set then is a nominal deadline. See `Jitter`.
    public var jitter: Jitter? {
        get { withState { $0.schedule.jitter?.jitter } }
        set {
            let time = withState { _, time in time }
            let jitter = newValue.map { TickJitter($0, random: time.randomNumber()) }
            update { state, _ in
                state.schedule.jitter = jitter
                // While the handler runs, the next deadline has not been set yet.
                guard state.isResolved, !state.isFiring, let followed = state.followed, followed.isFollowing else {
                    return
                }
                followed.follow(state.schedule.deadline_ns)
            }
        }
    }
}

extension LoopTimer.State {
    /// Sets the phase of a new timer.
    mutating func set(_ phase: TimerPhase, random: @autoclosure () -> UInt64) {
        if phase == .given { return }
        let phase_ns = phase.first_ns(0, schedule.recurrence, random: random())
        extras = LoopTimer.Extras(userInfo: extras?.userInfo, phase_ns: phase_ns)
    }
}
#endif
