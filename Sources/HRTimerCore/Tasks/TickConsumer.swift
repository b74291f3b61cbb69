// SPDX-License-Identifier: Apache-2.0
#if os(Linux)

/// What comes next in a sequence of ticks, for all its consumers: a grid or dates.
package protocol TickPlan: Sendable {
    associatedtype Position: TickPosition where Position.Plan == Self

    /// Lets a new consumer begin. Returns the plan as that consumer finds it.
    mutating func begin(now_ns: Int64) -> Self
}

/// How far one consumer has come on a plan.
package protocol TickPosition: Sendable {
    associatedtype Plan

    /// The next deadline; `Int64.max` for none.
    var deadline_ns: Int64 { get }
    /// Whether no deadline will ever come.
    var isOver: Bool { get }
    /// Ticks that no consumer was given, for the next one to report.
    var unreported: Int { get }

    /// Returns the tolerance that counts at the present interval.
    func tolerance_ns(requested requested_ns: Int64) -> Int64

    /// Goes on by another state of the plan, or after the clock was set.
    mutating func follow(_ plan: Plan, now_ns: Int64)

    /// Takes the deadline, which has come. Returns how many ticks are to be reported beside it, or nil if the policy leaves it
    /// out.
    mutating func begin(now_ns: Int64) -> Int?

    /// Decides about the next deadline when the consumer has come back.
    mutating func end(now_ns: Int64)

    /// Notes in the plan the tick that `begin` took, which its consumer is given.
    func noteTick(lateness_ns: Int64, in plan: inout Plan)
}

/// A tick that a consumer is given.
package struct Tick: Sendable, Hashable {
    let deadline_ns: Int64
    let firedAt_ns: Int64
    let missed: Int

    var lateness_ns: Int64 { firedAt_ns.subtractingSaturating(deadline_ns) }
}

/// One consumer of a sequence of ticks.
package struct TickConsumer<Plan: TickPlan> {
    private let ticks: SharedTicks<Plan>
    private let tolerance_ns: Int64
    private var position: Plan.Position
    /// The generation of the plan that `position` follows; nil before the first wait.
    private var generation: Int?
    private var phase = Phase.waiting

    private enum Phase {
        case waiting
        /// A tick was returned, and its consumer has not come back yet.
        case consuming
        case ended
    }

    init(_ ticks: SharedTicks<Plan>, at position: Plan.Position, tolerance: Duration, since generation: Int? = nil) {
        self.ticks = ticks
        self.position = position
        self.generation = generation
        tolerance_ns = tolerance.nanosecondsRoundedUp
    }

    package mutating func next(isolation: isolated (any Actor)? = #isolation) async -> Tick? {
        if phase == .ended { return nil }
        if phase == .consuming { position.end(now_ns: ticks.time.now_ns) }
        phase = .waiting
        /// The submission of the last wait, on a watched host; nil if the consumer did not wait.
        var submitted: SubmittedCall?
        var hasWaited = false
        while !Task.isCancelled, !ticks.host().hasEnded, let now_ns = update() {
            // Also for a tick that is already due: the sleep then gives the executor a turn.
            if position.deadline_ns > now_ns || !hasWaited {
                submitted = nil
                if await sleep(&submitted) == .cancellation { break }
                hasWaited = true
                // The plan may have changed meanwhile.
            } else if let tick = take(now_ns, submitted) {
                phase = .consuming
                return tick
            }
        }
        phase = .ended
        return nil
    }

    /// Brings the position up to date. Returns the time at which it read the plan; nil if the sequence has ended.
    private mutating func update() -> Int64? {
        guard let present = ticks.present(since: generation) else { return nil }
        generation = present.generation
        if let plan = present.plan { position.follow(plan, now_ns: present.now_ns) }
        return position.isOver ? nil : present.now_ns
    }

    private func sleep(
        _ submitted: inout SubmittedCall?,
        isolation: isolated (any Actor)? = #isolation
    ) async -> Sleeper.Outcome {
        let tolerance_ns = position.tolerance_ns(requested: self.tolerance_ns)
        let plan = Sleeper.Plan(until: position.deadline_ns, tolerance: .nanoseconds(tolerance_ns))
        return await Sleeper.sleep(on: ticks.host(), plan) { sleeper in
            ticks.enter(sleeper, generation)
        } leaving: { sleeper in
            ticks.leave(sleeper)
            submitted = sleeper.submitted
        }
    }

    /// Takes the tick that is due. Returns nil if the policy leaves it out.
    private mutating func take(_ now_ns: Int64, _ submitted: SubmittedCall?) -> Tick? {
        let (deadline_ns, unreported) = (position.deadline_ns, position.unreported)
        guard let missed = position.begin(now_ns: now_ns) else {
            let missed = position.unreported - unreported
            report(Tick(deadline_ns: deadline_ns, firedAt_ns: now_ns, missed: missed), nil, isLeftOut: true)
            return nil
        }
        let tick = Tick(deadline_ns: deadline_ns, firedAt_ns: now_ns, missed: missed)
        ticks.count(tick, at: position, generation)
        report(tick, submitted)
        return tick
    }

    /// Reports a late tick to those who watch this sequence. The sleep tells those who watch the host.
    private func report(_ tick: Tick, _ submitted: SubmittedCall?, isLeftOut: Bool = false) {
        guard let handlers = ticks.lateHandlers, handlers.isLate(tick.lateness_ns) else { return }
        let time = ticks.time
        let ahead_ns = tick.firedAt_ns.subtractingSaturating(time.on(.monotonic).now_ns)
        let called_ns = time.clock == .monotonic ? tick.firedAt_ns : tick.firedAt_ns.subtractingSaturating(ahead_ns)
        var call = submitted ?? SubmittedCall(submitted_ns: called_ns)
        // The consumer had not come back for the tick when it was due.
        if submitted == nil { call.cause = .handlerBefore }
        let explanation = call.explained(called_ns.subtractingSaturating(tick.lateness_ns), called_ns)
        var late = LateCall(name: "ticks", called_ns: called_ns, explanation)
        (late.missedTicks, late.isLeftOut) = (tick.missed, isLeftOut)
        handlers.call(late)
    }
}
#endif
