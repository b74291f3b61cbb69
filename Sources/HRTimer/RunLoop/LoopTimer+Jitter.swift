#if os(Linux)
public import HRTimerCore

extension LoopTimer {
    /// How much later than its nominal deadline each call of a repeating timer comes, at random; nil, as at first, for none.
    /// The grid does not move with it.
    ///
    /// A new value counts at once; one without a seed gets one. As soon as the timer is in a loop, `fireInstant` includes the
    /// jitter; an instant that is set then is a nominal deadline. See `Jitter`.
    public var jitter: Jitter? {
        get { withState { $0.jitter?.pointee.given } }
        set {
            let time = withState { _, time in time }
            let jitter = newValue.map { $0.seeded(time.randomNumber()) }
            update { state, time in state.setJitter(jitter, isInLoop: time != nil) }
        }
    }

    /// What a timer with a jitter or a random phase stores for it.
    struct LoopJitter {
        /// The jitter that was set, with a seed.
        var given: Jitter?
        /// The jitter as the deadline includes it; nil before it does.
        var ticks: TickJitter?
        /// How far a random phase moves the first deadline when the timer is added to a loop.
        var shift_ns: Int64 = 0
    }
}

extension LoopTimer.State {
    private mutating func makeJitter() {
        if jitter != nil { return }
        jitter = .allocate(capacity: 1)
        jitter?.initialize(to: LoopTimer.LoopJitter())
    }

    /// Sets the phase of a new timer.
    mutating func set(_ phase: TimerPhase, random: @autoclosure () -> UInt64) {
        if phase == .given || !repetition.repeats { return }
        makeJitter()
        jitter?.pointee.shift_ns = phase.first_ns(0, repetition, random: random())
    }

    mutating func setJitter(_ given: Jitter?, isInLoop: Bool) {
        if jitter == nil {
            guard given != nil else { return }
            makeJitter()
        }
        // While the handler runs, the deadline is the one that it was called for; the deadline that follows is in `ticks`.
        let isBeforeDeadline = isFiring && !isMoved
        if let former = jitter?.pointee.ticks {
            if isBeforeDeadline { former.removeDelay(&ticks) } else { moveDeadline { former.nominal_ns($0) } }
        }
        jitter?.pointee.given = given
        jitter?.pointee.ticks = nil
        if isBeforeDeadline {
            jitter?.pointee.ticks = newTicks()
            jitter?.pointee.ticks?.place(&ticks)
        } else if isInLoop || isResolved {
            placeJitter()
        }
    }

    private func newTicks() -> TickJitter? {
        guard repetition.repeats, let given = jitter?.pointee.given else { return nil }
        return TickJitter(given, for: repetition, random: 0)
    }

    /// Moves the first deadline by the phase and adds its jitter, when the timer is added to a loop.
    mutating func placeFirst() {
        guard let jitter else { return }
        let shift_ns = jitter.pointee.shift_ns
        jitter.pointee.shift_ns = 0
        if shift_ns > 0 { moveDeadline { $0 == .max ? .max : $0.addingSaturating(shift_ns) } }
        placeJitter()
    }

    /// Adds the jitter to the present deadline, which is a nominal one.
    mutating func placeJitter() {
        guard jitter != nil, var ticks = newTicks() else { return }
        moveDeadline { ticks.place($0) }
        jitter?.pointee.ticks = ticks
    }

    /// Changes the deadline on the clock that the timer follows.
    private mutating func moveDeadline(_ move: (Int64) -> Int64) {
        if let followed, followed.isFollowing {
            followed.follow(move(followed.deadline_ns))
        } else {
            deadline_ns = move(deadline_ns)
        }
    }

    /// Decides about the tick that has come; see `Recurrence.begin`.
    mutating func beginTick(_ ticks: inout GridPosition, _ now_ns: Int64) -> Int? {
        guard let jitter, jitter.pointee.ticks != nil else { return repetition.begin(&ticks, now_ns: now_ns) }
        return repetition.begin(&ticks, now_ns: now_ns, &jitter.pointee.ticks)
    }

    mutating func endTick(_ now_ns: Int64) {
        guard let jitter, jitter.pointee.ticks != nil else { return repetition.end(&ticks, now_ns: now_ns) }
        repetition.end(&ticks, now_ns: now_ns, &jitter.pointee.ticks)
    }
}
#endif
