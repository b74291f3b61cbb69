#if os(Linux)
public import HRTimerCore

/// What a timer has that follows another clock than the loop's: its deadline there, and an alarm on that clock. The timer is due
/// in its loop when the alarm has expired, and waits for nothing there before.
final class FollowedClock: @unchecked Sendable {
    // Sendable: what changes is part of the timer's state and touched with the locks that guard that, or behind `alarm`'s lock.

    let clock: TimerClock
    /// On that clock.
    var deadline_ns: Int64
    /// Where the loop reads it.
    private(set) var time: TimeBase
    /// False while the timer waits for an instant of the loop's own clock, which it was moved to.
    private(set) var isFollowing = true
    /// On which clocks the deadline had passed when it was given.
    private var passed: PassedOn
    private weak var timer: LoopTimer?
    private let alarm = Locked<ClockAlarm?>(nil)

    init(_ clock: TimerClock, deadline_ns: Int64) {
        self.clock = clock
        self.deadline_ns = deadline_ns
        time = TimeBase.current.on(clock)
        passed = PassedOn { $0.monotonic_ns(deadline_ns, of: clock) }
    }

    func belong(to timer: LoopTimer) { self.timer = timer }

    /// Without a lock, since an engine may have to be started: the timer will be in a loop on `time`.
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

    /// Without a lock. The alarm does not expire any more.
    func cancel() {
        let former = alarm.withLock { $0.take() }
        former?.cancel()
    }

    deinit {
        cancel()
    }
}

// With the locks of the timer's state held.
extension FollowedClock {
    var now_ns: Int64 { time.now_ns }

    /// The timer is in a loop: a deadline that had passed when it was given counts as now.
    func resolveDeadline(_ loopTime: TimeBase) {
        time = loopTime.on(clock)
        if isFollowing { follow(passed.contains(loopTime) ? max(deadline_ns, now_ns) : deadline_ns) }
        passed = .none
    }

    /// Has the alarm expire at that instant of the clock.
    func follow(_ deadline_ns: Int64) {
        self.deadline_ns = deadline_ns
        isFollowing = true
        alarm.withLock { $0 }?.set(deadline_ns: deadline_ns)
    }

    /// The timer was moved to an instant of the loop's clock.
    func detach() {
        isFollowing = false
        alarm.withLock { $0 }?.set(deadline_ns: .max)
    }

    /// Whether the clock has come to the deadline, and nobody has moved it since.
    var isDue: Bool { isFollowing && now_ns >= deadline_ns }

    /// The next deadline on the monotonic clock, as the two stand to each other now.
    func monotonic_ns(_ loopTime: TimeBase) -> Int64 { loopTime.monotonic_ns(deadline_ns, of: clock) }
}

extension LoopTimer {
    /// A timer that follows the wall clock or boot time: it fires when that clock comes to `instant`, and if it repeats at
    /// every interval of that clock after that. Not in a loop yet.
    ///
    ///     let noon = LoopTimer(fireAt: WallInstant(nanoseconds: noon_ns), interval: 86_400, repeats: true) { _ in lunch() }
    ///
    /// A step of the wall clock moves the call with it: one forward makes what it passes fire at once, one back has it wait.
    /// Boot time goes on while the system is suspended; what fell due then fires when the system is up again. An instant that
    /// has passed when the timer is added counts as now, also for the grid.
    ///
    /// An engine of that clock wakes the loop, which calls: later by a wake-up, and without the loop's precision and tolerance.
    /// Setting `fireInstant` moves the next call to an instant of the monotonic clock; a repeating timer follows its own clock
    /// from there.
    @_disfavoredOverload
    public convenience init<Instant: TimerInstant>(
        fireAt instant: Instant,
        interval: some TimeSpan = Duration.zero,
        repeats: Bool = false,
        policy: MissedTickPolicy = .mergeToGrid,
        phase: TimerPhase = .given,
        userInfo: (any Sendable)? = nil,
        block: @escaping Block
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
            deadline_ns: .max,
            origin: .followed,
            repetition: Recurrence(every: repeats ? interval : nil, policy: policy),
            userInfo: userInfo,
            handler: Self.handler(block),
            followed: followed
        )
        followed.belong(to: self)
        state.set(phase, random: TimeBase.current.randomNumber())
    }

    /// The clock has come to the deadline. On the engine's thread, without a lock.
    fileprivate func alarmHasExpired() {
        update { state, time in
            guard let followed = state.followed, followed.isDue, !state.isFiring, state.handler != nil else { return }
            state.deadline_ns = (time ?? .current).now_ns
        }
    }
}
#endif
