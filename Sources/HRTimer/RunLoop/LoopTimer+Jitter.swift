#if os(Linux)
public import HRTimerCore

extension LoopTimer {
    /// How much later than its nominal deadline each call of a repeating timer comes, at random; nil at first, for none. The
    /// grid stays.
    ///
    /// A new one counts at once; one without a seed gets one. `fireInstant` has it as soon as the timer is in a loop: an instant
    /// that is set then is a nominal one. See `Jitter`.
    public var jitter: Jitter? {
        get { withState { $0.jitter?.pointee.given } }
        set {
            let time = withState { _, time in time }
            let jitter = newValue.map { $0.seeded(time.randomNumber()) }
            update { state, time in state.setJitter(jitter, isInLoop: time != nil) }
        }
    }

    /// What a timer has that has a jitter.
    struct LoopJitter {
        /// With a seed.
        var given: Jitter?
        /// Nil before the deadline has it.
        var ticks: TickJitter?
        /// By how much a random phase moves the first deadline, when the timer is added to a loop.
        var shift_ns: Int64 = 0
    }
}

extension LoopTimer.State {
    private mutating func makeJitter() {
        if jitter != nil { return }
        jitter = .allocate(capacity: 1)
        jitter?.initialize(to: LoopTimer.LoopJitter())
    }

    /// For a new timer.
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
        // While the handler runs the deadline is the one that it was called for: what follows is in the ticks.
        let isAhead = isFiring && !isMoved
        if let former = jitter?.pointee.ticks {
            if isAhead { former.removeDelay(&ticks) } else { moveDeadline { former.nominal_ns($0) } }
        }
        jitter?.pointee.given = given
        jitter?.pointee.ticks = nil
        if isAhead {
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

    /// The timer is in a loop from now on: its first deadline is moved by its phase, and has its jitter.
    mutating func placeFirst() {
        guard let jitter else { return }
        let shift_ns = jitter.pointee.shift_ns
        jitter.pointee.shift_ns = 0
        if shift_ns > 0 { moveDeadline { $0 == .max ? .max : $0.addingSaturating(shift_ns) } }
        placeJitter()
    }

    /// The present deadline is a nominal one: adds its jitter.
    mutating func placeJitter() {
        guard jitter != nil, var ticks = newTicks() else { return }
        moveDeadline { ticks.place($0) }
        jitter?.pointee.ticks = ticks
    }

    /// On the timer's own clock.
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
