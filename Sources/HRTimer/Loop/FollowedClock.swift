// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

/// The part of a timer that follows another clock than the loop's: the deadline on that clock, and an alarm on it. The timer
/// becomes due in its loop when the alarm has expired; until then it has no deadline there.
final class FollowedClock: @unchecked Sendable {
    // Sendable: the variables are part of the timer's state and touched with its locks held; `alarm` has a lock of its own.

    let clock: TimerClock
    /// When the alarm has expired, on the loop's clock: the timer is due there; `Int64.max` before that.
    var expired_ns = Int64.max
    /// That clock as the loop reads it: the kernel's, or that of a virtual time.
    private(set) var time: TimeBase
    /// Whether the timer waits for that clock. False after it was moved to an instant of the loop's own clock.
    private(set) var isFollowing = true
    /// The times on whose clocks the deadline had passed when it was given.
    private var passed: PassedOn
    private weak var timer: LoopTimer?
    private let alarm = Locked<ClockAlarm?>(nil)

    init(_ clock: TimerClock, deadline_ns: Int64) {
        self.clock = clock
        time = TimeBase.current.on(clock)
        passed = PassedOn { $0.monotonic_ns(deadline_ns, of: clock) }
    }

    func belong(to timer: LoopTimer) { self.timer = timer }

    /// Makes an alarm for a timer that will be in a loop on `time`. May start an engine: must be called without a lock.
    func prepare(_ time: TimeBase) {
        let time = time.on(clock)
        let hasOne = alarm.withLock { $0.map { $0.isOn(time) } ?? false }
        if hasOne { return }
        let new = ClockAlarm(on: time) { [weak timer] _ in timer?.alarmHasExpired() }
        let former = alarm.withLock { alarm in
            defer { alarm = new }
            return alarm
        }
        former?.cancel()
    }

    /// Cancels the alarm, which then does not expire any more. Must be called without a lock.
    func cancel() {
        let former = alarm.withLock { $0.take() }
        former?.cancel()
    }

    deinit {
        cancel()
    }
}

// Must be called with the locks of the timer's state held.
extension FollowedClock {
    var now_ns: Int64 { time.now_ns }

    /// Resolves the deadline when the timer is added to a loop: a deadline that had passed when it was given counts as now.
    func resolve(_ loopTime: TimeBase, _ position: inout GridPosition) {
        time = loopTime.on(clock)
        if isFollowing, passed.contains(loopTime) { position.deadline_ns = max(position.deadline_ns, now_ns) }
        passed = .none
    }

    /// Makes the alarm expire at that instant of the followed clock.
    func follow(_ deadline_ns: Int64) {
        expired_ns = .max
        isFollowing = true
        alarm.withLock { $0 }?.set(deadline_ns: deadline_ns)
    }

    /// Disarms the alarm, because the timer was moved to an instant of the loop's clock.
    func detach() {
        isFollowing = false
        alarm.withLock { $0 }?.set(deadline_ns: .max)
    }

    /// Returns a deadline on the loop's monotonic clock, by the present difference of the two clocks.
    func monotonic_ns(_ deadline_ns: Int64, _ loopTime: TimeBase) -> Int64 {
        loopTime.monotonic_ns(deadline_ns, of: clock)
    }
}

extension LoopTimer {
    /// A timer that follows the wall clock or boot time: it fires when that clock reaches `instant`, and if it repeats, at
    /// every interval of that clock after that.
    ///
    /// Not in a loop yet.
    ///
    ///     let noon = LoopTimer(fireAt: WallInstant(nanoseconds: noon_ns), interval: 86_400, repeats: true) { _ in lunch() }
    ///
    /// A step of the wall clock moves the call with it: a step forward makes the deadlines that it passes fire at once, and
    /// after a step back the timer waits longer. Boot time goes on while the system is suspended; deadlines that pass meanwhile
    /// fire when the system resumes. An instant that has passed when it is given counts as the moment when the timer is added
    /// to a loop, also for the grid.
    ///
    /// An engine of that clock wakes the loop, which makes the call: one wake-up later, and without the loop's precision and
    /// tolerance. Setting `fireInstant` moves the next call to an instant of the monotonic clock. From there a repeating timer
    /// follows its own clock again.
    @_disfavoredOverload
    public convenience init<Instant: TimerInstant>(
        fireAt instant: Instant,
        interval: some TimeSpan = Duration.zero,
        repeats: Bool = false,
        policy: MissedTickPolicy = .mergeToGrid,
        phase: TimerPhase = .given,
        userInfo: (any Sendable)? = nil,
        @_inheritActorContext block: @escaping Block
    ) {
        if Instant.clock == .monotonic {
            let own = MonotonicInstant(nanoseconds: instant.nanoseconds)
            self.init(
                fireAt: own,
                interval: interval,
                repeats: repeats,
                policy: policy,
                phase: phase,
                userInfo: userInfo,
                block: block
            )
            return
        }
        guard let interval = interval.asDuration else {
            self.init(invalidWithPolicy: policy)
            return
        }
        let followed = FollowedClock(Instant.clock, deadline_ns: instant.nanoseconds)
        self.init(
            deadline_ns: instant.nanoseconds,
            origin: .followed,
            repetition: Recurrence(every: repeats ? interval : nil, policy: policy),
            userInfo: userInfo,
            handler: Self.handler(block),
            followed: followed
        )
        followed.belong(to: self)
        state.set(phase, random: TimeBase.current.randomNumber())
    }

    /// Makes the timer due, because its clock has reached the deadline. Called on the engine's thread, without a lock.
    fileprivate func alarmHasExpired() {
        update { state, time in
            guard let followed = state.followed, followed.isFollowing, !state.isFiring, state.handler != nil else {
                return
            }
            // If the clock was set back since the alarm's engine read it, the alarm expires once more.
            let deadline_ns = state.schedule.deadline_ns
            guard followed.now_ns >= deadline_ns else { return followed.follow(deadline_ns) }
            followed.expired_ns = (time ?? .current).now_ns
        }
    }
}
#endif
