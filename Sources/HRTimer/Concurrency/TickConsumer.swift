#if os(Linux)
import HRTimerCore

/// The position of one consumer in a tick sequence.
struct TickConsumer {
    private let grid: TickGrid
    private let policy: MissedTickPolicy
    private let tolerance_ns: Int64
    private var place = Place()
    /// The stretch for which `place` was set; nil before the first one.
    private var stretch: TickGrid.Stretch?
    private var recurrence = Recurrence.once
    /// Whether a tick was returned and its consumer has not come back yet.
    private var isConsuming = false
    /// When the consumer last came back.
    private var returned_ns = Int64.min
    /// The submission of the wait that has ended, on a watched host.
    private var submitted: SubmittedCall?
    /// The tick that was decided before its deadline: at the deadline the clock is read, and little else is left to do. After
    /// milliseconds of sleep the code that decides is in no cache, and is as late as it is long.
    private var prepared: DecidedTick?
    private var hasEnded = false

    /// How far the consumer has come on the grid.
    private struct Place {
        var position = GridPosition(deadline_ns: .max)
        var jitter: TickJitter?
    }

    private struct DecidedTick {
        let deadline_ns: Int64
        let missed: Int
        /// Where the consumer is with the tick.
        let after: Place
    }

    struct Tick {
        let deadline_ns: Int64
        let firedAt_ns: Int64
        let missed: Int
        /// Nil if the consumer did not wait for the tick.
        var submitted: SubmittedCall?
    }

    init(_ grid: TickGrid, _ policy: MissedTickPolicy, _ tolerance: Duration) {
        self.grid = grid
        self.policy = policy
        tolerance_ns = tolerance.nanosecondsRoundedUp
    }

    mutating func next(isolation: isolated (any Actor)? = #isolation) async -> Tick? {
        if hasEnded { return nil }
        if isConsuming {
            isConsuming = false
            returned_ns = grid.time.now_ns
            recurrence.end(&place.position, now_ns: returned_ns, &place.jitter)
        }
        var hasWaited = false
        while !Task.isCancelled, !grid.host().hasEnded, let now_ns = plan() {
            // Also for a tick that is already due: the sleep then gives the executor a turn.
            if place.position.deadline_ns > now_ns || !hasWaited {
                if await sleep() == .cancellation { break }
                hasWaited = true
                if let tick = takePrepared() { return tick }
                // The consumer checks whether its plan is still valid.
            } else if let decided = decide(now_ns), let tick = take(decided, now_ns) {
                return tick
            }
        }
        hasEnded = true
        return nil
    }

    /// Decides about the tick of the next deadline, which has come or is about to come: as of `now_ns`, the deadline or later.
    /// Returns nil if the policy leaves it out.
    private mutating func decide(_ now_ns: Int64) -> DecidedTick? {
        let former = place.position
        var after = place
        if let missed = recurrence.begin(&after.position, now_ns: now_ns, &after.jitter) {
            return DecidedTick(deadline_ns: former.deadline_ns, missed: missed, after: after)
        }
        place = after
        report(
            Tick(
                deadline_ns: former.deadline_ns,
                firedAt_ns: now_ns,
                missed: after.position.unreported - former.unreported
            ),
            isLeftOut: true
        )
        return nil
    }

    /// Takes a tick that was decided. Returns nil if the sequence has changed or ended since.
    private mutating func take(_ decided: DecidedTick, _ now_ns: Int64) -> Tick? {
        let deadline_ns = decided.deadline_ns
        let lateness_ns = now_ns.subtractingSaturating(deadline_ns)
        // With `.delay` a tick has no place on the grid.
        let nominal_ns = policy.countsFromReturn ? nil : place.jitter?.nominal_ns(deadline_ns) ?? deadline_ns
        let generation = stretch?.generation ?? 0
        guard grid.count(nominal_ns, lateness_ns: lateness_ns, missed: decided.missed, generation) else { return nil }
        place = decided.after
        isConsuming = true
        let tick = Tick(
            deadline_ns: deadline_ns,
            firedAt_ns: now_ns,
            missed: decided.missed,
            submitted: submitted.take()
        )
        report(tick)
        return tick
    }

    /// Decides about the next tick while the task is awake to spin up to its deadline, if that is still ahead.
    private mutating func prepare() {
        guard let now_ns = plan(), now_ns < place.position.deadline_ns else { return }
        prepared = decide(place.position.deadline_ns)
    }

    /// Takes the tick that was prepared. Returns nil if there is none, or if it must be decided anew: the task was away for an
    /// interval.
    private mutating func takePrepared() -> Tick? {
        guard let tick = prepared.take(), !Task.isCancelled else { return nil }
        let now_ns = grid.time.now_ns
        let lateness_ns = now_ns.subtractingSaturating(tick.deadline_ns)
        guard lateness_ns >= 0, lateness_ns < recurrence.interval.whole_ns else { return nil }
        return take(tick, now_ns)
    }

    /// Reports a late tick to those who watch this sequence. The sleep tells those who watch the host.
    private func report(_ tick: Tick, isLeftOut: Bool = false) {
        guard let handlers = grid.lateHandlers else { return }
        let lateness_ns = tick.firedAt_ns.subtractingSaturating(tick.deadline_ns)
        guard handlers.isLate(lateness_ns) else { return }
        let ahead_ns = tick.firedAt_ns.subtractingSaturating(grid.time.on(.monotonic).now_ns)
        let called_ns =
            grid.time.clock == .monotonic ? tick.firedAt_ns : tick.firedAt_ns.subtractingSaturating(ahead_ns)
        var submitted = tick.submitted ?? SubmittedCall(submitted_ns: called_ns)
        // The consumer had not come back for the tick when it was due.
        if tick.submitted == nil { submitted.cause = .handlerBefore }
        let explanation = submitted.explained(called_ns.subtractingSaturating(lateness_ns), called_ns)
        handlers.call(explanation.parts) {
            var call = LateCall(name: "ticks", called_ns: called_ns)
            (call.missedTicks, call.isLeftOut) = (tick.missed, isLeftOut)
            return LatenessReport(call, explanation)
        }
    }

    private mutating func sleep(isolation: isolated (any Actor)? = #isolation) async -> Sleeper.Outcome {
        let plan = Sleeper.Plan(
            until: place.position.deadline_ns,
            tolerance: .nanoseconds(recurrence.tolerance_ns(requested: tolerance_ns))
        )
        let (grid, generation) = (grid, stretch?.generation ?? 0)
        // A copy, since the sleep calls back while it has this function's arguments.
        var awake = self
        (awake.submitted, awake.prepared) = (nil, nil)
        let outcome = await Sleeper.sleep(on: grid.host(), plan) { sleeper in
            grid.enter(sleeper, generation)
        } leaving: { sleeper in
            grid.leave(sleeper)
            awake.submitted = sleeper.submitted
            awake.prepare()
        }
        self = awake
        return outcome
    }

    /// Sets the next deadline by the grid as it is now. Returns the time at which it read the grid; nil if the sequence has
    /// ended.
    private mutating func plan() -> Int64? {
        guard let (present, ticks, now_ns) = grid.present() else { return nil }
        guard let former = stretch else {
            place.position.move(to: grid.begin() ? ticks.anchor : ticks.advanced(past: now_ns).anchor)
            keep(present)
            return now_ns
        }
        if former.generation == present.generation { return now_ns }
        place.jitter?.removeDelay(&place.position)
        if former.generation < present.forgetsBefore {
            place.position.unreported = 0
            place.position.move(to: ticks.anchor)
        } else if policy.countsFromReturn {
            let (former_ns, present_ns) = (former.interval.whole_ns, present.interval.whole_ns)
            // The consumer's own interval begins when it comes back, be that after the change.
            let begun_ns = max(present.begun_ns, returned_ns)
            let deadline_ns = scaled(place.position.deadline_ns, at: begun_ns, from: former_ns, to: present_ns)
            place.position.move(to: ExactInstant(deadline_ns))
        } else {
            follow(former.grid ?? ticks, ticks)
        }
        keep(present)
        return now_ns
    }

    /// Moves the position to the present grid. Ticks before the present stretch were missed, under every policy.
    private mutating func follow(_ former: Grid, _ present: Grid) {
        let number = former.number(at: place.position.deadline_ns)
        place.position.miss(max(0, present.number.subtractingSaturating(number)))
        place.position.move(to: present.instant(max(number, present.number)))
    }

    private mutating func keep(_ present: TickGrid.Stretch) {
        stretch = present
        recurrence = Recurrence(interval: present.interval, policy: policy)
        place.jitter = grid.tickJitter(recurrence)
        place.jitter?.place(&place.position)
    }
}
#endif
