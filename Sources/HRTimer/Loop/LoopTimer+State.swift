// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

extension LoopTimer {
    /// The state of a timer, in a loop or out of one. Noncopyable, since a copy would count the references in it.
    struct State: ~Copyable, Sendable {
        /// Nil once the timer is invalid.
        var handler: OwnerFunction?
        var extras: Extras?
        /// When the timer fires, on the clock that it follows, or on the loop's. While its handler runs, the deadline is the one
        /// that it was called for, unless the timer was moved since.
        var schedule: TimerSchedule
        // These share a word with the last byte of `schedule`.
        /// Whether the timer was invalidated, and did not just end: then a call that waits for its actor does not come.
        var isRevoked = false
        var keepsLoopRunning = true
        /// The timer's own precision; nil for the loop's.
        var precision: TimerPrecision?
        var tolerance_ns: Int64 = 0
        /// The latest deadline that the timer fired for, on the loop's clock; `Int64.max` if there was none.
        var lastFired_ns = Int64.max
        /// The missed ticks that the loop's latest call reported; see `reportedMisses`.
        var missedTicks = 0
        /// The deadline's dates; nil until a date was given or asked for.
        var date: FireDate?
        /// The clock that the timer follows; nil for the loop's own clock.
        let followed: FollowedClock?
        /// The call that the loop prepares or makes; nil outside of one.
        var call: CallUnderWay?
        var origin: Origin

        init(
            handler: __owned OwnerFunction?,
            extras: __owned Extras?,
            schedule: __owned TimerSchedule,
            origin: Origin,
            tolerance_ns: Int64,
            date: __owned FireDate?,
            followed: __owned FollowedClock?
        ) {
            self.handler = handler
            self.extras = extras
            self.schedule = schedule
            self.origin = origin
            self.tolerance_ns = tolerance_ns
            self.date = date
            self.followed = followed
        }

        /// Whether the loop is inside the handler, or about to be.
        var isFiring: Bool { call != nil }

        /// The deadline on the loop's clock; `Int64.max` while the timer waits for the clock that it follows.
        var deadline_ns: Int64 {
            if let followed, followed.isFollowing { return followed.expired_ns }
            return isResolved ? schedule.deadline_ns : schedule.position.deadline_ns
        }

        /// Returns the next deadline, or for an invalid timer the last one it fired for.
        func shownDeadline_ns(_ time: TimeBase) -> Int64 {
            if handler == nil { return lastFired_ns < .max ? lastFired_ns : deadline_ns }
            guard let followed, followed.isFollowing, !isFiring else { return deadline_ns }
            return followed.monotonic_ns(isResolved ? schedule.deadline_ns : schedule.position.deadline_ns, time)
        }
    }

    /// A call of a loop, from its preparation to its end. If it is withdrawn, nothing but this was changed.
    struct CallUnderWay: Sendable {
        /// The missed ticks that it reports.
        var missedTicks: Int
        /// What follows it; nil once somebody has moved the timer.
        var following: TimerSchedule.Following?
    }

    /// What few timers have, by reference: an existential would take five words in each, and a check to copy it and to free it.
    @safe final class Extras: Sendable {
        let userInfo: (any Sendable)?
        /// The calls on the handler's actor, with what they report; nil before the first one, and without an actor.
        let calls: ActorCalls?
        /// How far a random phase moves the first deadline when the timer is added to a loop.
        let phase_ns: Int64

        /// The end of a call during which the timer was invalidated, until its handler has returned. The rest is nil then.
        let ending: Ending?
        /// The thread that is inside the handler, if the timer was taken out of its loop meanwhile; it may be in another loop.
        /// Safe because it is only compared.
        @safe nonisolated(unsafe) let threadOfFormerLoop: UnsafeRawPointer?

        @safe init(
            userInfo: (any Sendable)?,
            calls: ActorCalls? = nil,
            phase_ns: Int64 = 0,
            ending: Ending? = nil,
            threadOfFormerLoop: UnsafeRawPointer? = nil
        ) {
            self.userInfo = userInfo
            self.calls = calls
            self.phase_ns = phase_ns
            self.ending = ending
            self.threadOfFormerLoop = unsafe threadOfFormerLoop
        }
    }

    /// Where the first deadline came from. This decides what becomes of the deadline when the timer is added to a loop.
    enum Origin: Sendable {
        /// One interval after the timer was made, on the time `clock`. A loop on another time counts the interval again.
        case interval(ns: Int64, clock: TimeID)
        /// An instant, with the times on whose clocks it had passed when it was given.
        case instant(PassedOn)
        /// An instant of the wall clock, with the times on whose clocks it had passed when it was given.
        case date(wall_ns: Int64, PassedOn)
        /// An instant of another clock, which the timer follows.
        case followed
        /// The deadline is resolved by the loop's own clock.
        case resolved
    }
}

extension LoopTimer.State {
    var options: TimerOptions {
        TimerOptions(
            tolerance_ns: (precision ?? .coalesced) == .coalesced ? tolerance_ns : 0,
            isPrecise: precision == .precise
        )
    }

    /// Resolves the deadline by the clock of the loop that the timer is added to.
    mutating func resolveDeadline(_ time: TimeBase) {
        let given_ns = schedule.position.deadline_ns
        switch origin {
        case .interval(let interval_ns, let clock) where clock != time.id:
            schedule.position.deadline_ns = time.now_ns.addingSaturating(interval_ns)
        case .date(let wall_ns, let passed):
            let isConverted = date?.clock == time.id
            let deadline_ns = isConverted ? given_ns : time.instant_ns(wall_ns: wall_ns)
            schedule.position.deadline_ns = passed.contains(time) ? max(deadline_ns, time.now_ns) : deadline_ns
            if !isConverted {
                date?.resolveDeadline(to: schedule.position.deadline_ns, wall_ns: wall_ns, clock: time.id)
            }
        case .instant(let passed) where passed.contains(time):
            schedule.position.deadline_ns = max(given_ns, time.now_ns)
        default: break
        }
        followed?.resolve(time, &schedule.position)
        if !isResolved, let extras, schedule.position.deadline_ns < .max {
            schedule.position.deadline_ns = schedule.position.deadline_ns.addingSaturating(extras.phase_ns)
        }
        origin = .resolved
        if let followed, followed.isFollowing { followed.follow(schedule.deadline_ns) }
    }

    /// Whether the deadline is on the loop's clock and includes the timer's jitter.
    var isResolved: Bool {
        if case .resolved = origin { return true }
        return false
    }

    /// Sets the next deadline. `origin` counts only as long as there is no loop. Returns false if the timer is invalid.
    mutating func move(to deadline_ns: Int64, origin: LoopTimer.Origin) -> Bool {
        guard handler != nil else { return false }
        noteDeadlineOfCall()
        // A new grid, of which no tick has passed.
        schedule.position = GridPosition(deadline_ns: deadline_ns)
        call?.following = nil
        if let extras, extras.phase_ns > 0 { self.extras = LoopTimer.Extras(userInfo: extras.userInfo) }
        self.origin = origin
        date = nil
        followed?.detach()
        return true
    }

    /// Notes the deadline of the present call, which is about to be replaced or hidden.
    private mutating func noteDeadlineOfCall() {
        if call?.following != nil { lastFired_ns = deadline_ns }
    }

    /// Moves out what may run a user's code when it is freed, to be released without a lock. The timer is invalid from now on.
    mutating func takeReferences(_ released: inout Released) {
        noteDeadlineOfCall()
        swap(&released.function, &handler)
        if extras?.calls != nil {
            missedTicks = reportedMisses
            call?.missedTicks = missedTicks
        }
        if let extras, extras.ending == nil { released.object = self.extras.take() }
    }

    /// Called when the timer leaves its loop, with the thread that makes that loop's calls. Safe: the thread's address is only compared.
    @safe mutating func noteFormerLoop(_ thread: UnsafeRawPointer?) {
        if !isFiring { return }
        let extras = self.extras
        self.extras = LoopTimer.Extras(userInfo: extras?.userInfo, calls: extras?.calls, threadOfFormerLoop: thread)
    }

    /// Called when the timer has become invalid, with the thread that makes the calls of its loop. If its handler runs, others
    /// can wait from now on until it has returned. Safe: the thread's address is only compared.
    @safe mutating func noteEnding(_ callingThread: UnsafeRawPointer?) {
        if isFiring { addEnding(callingThread) }
    }

    @safe private mutating func addEnding(_ callingThread: UnsafeRawPointer?) {
        if extras != nil { return }
        extras = unsafe LoopTimer.Extras(userInfo: nil, ending: LoopTimer.Ending(thread: callingThread))
    }

    /// The missed ticks that the present or latest call of the handler reports, on the loop's thread or on an actor.
    var reportedMisses: Int {
        extras?.calls.map { max(0, $0.reportedTicks - 1) } ?? call?.missedTicks ?? missedTicks
    }

    /// Returns how many ticks the loop's present call is for, which `calls` reports on the handler's actor; 0 outside of a
    /// call, for `fire()`. Stores `calls` for `reportedMisses`.
    mutating func ticksOfCall(_ calls: ActorCalls) -> Int {
        if handler != nil, extras?.calls !== calls {
            extras = LoopTimer.Extras(
                userInfo: extras?.userInfo,
                calls: calls,
                phase_ns: extras?.phase_ns ?? 0,
                threadOfFormerLoop: extras?.threadOfFormerLoop
            )
        }
        return call.map { $0.missedTicks + 1 } ?? 0
    }
}

// How a repeating timer handles its deadlines.
extension LoopTimer.State {
    /// Begins the call for the deadline, which has come. If the policy leaves this tick out, the deadline is then the next one.
    mutating func beginCall(now_ns: Int64) -> TimerSchedule.Begun {
        var begun = schedule
        var now_ns = now_ns
        if let followed {
            now_ns = followed.now_ns
            // If the clock was set back after the alarm expired, the call comes nevertheless. A moved timer begins a new grid.
            if !followed.isFollowing || schedule.deadline_ns > now_ns {
                begun.position = GridPosition(deadline_ns: now_ns, unreported: schedule.position.unreported)
            }
        }
        let outcome = begun.begin(now_ns: now_ns)
        switch outcome {
        case .call(let missed, let following):
            call = LoopTimer.CallUnderWay(missedTicks: missed, following: following)
        case .leftOut:
            schedule = begun
            followed?.follow(schedule.deadline_ns)
        }
        return outcome
    }

    /// Ends the call for that deadline of the loop's clock, and sets the next one. Returns false if there is none.
    mutating func endCall(for deadline_ns: Int64, now_ns: Int64) -> Bool {
        let ended = call.take()
        lastFired_ns = deadline_ns
        if let ended { missedTicks = ended.missedTicks }
        if let extras, unsafe extras.threadOfFormerLoop != nil {
            self.extras = LoopTimer.Extras(userInfo: extras.userInfo, calls: extras.calls)
        }
        guard schedule.recurrence.repeats, handler != nil else { return false }
        if let following = ended?.following {
            schedule.end(following, now_ns: followed?.now_ns ?? now_ns)
            followed?.follow(schedule.deadline_ns)
        }
        return true
    }

    /// Moves the next deadline and the grid back, on the loop's clock; a timer that follows another clock stays as it is. While
    /// the handler runs, the next deadline is the one that follows the call.
    mutating func moveBack(by length_ns: Int64) {
        if let following = call?.following {
            // None yet if the interval begins when the handler returns.
            guard followed == nil, following.deadline.rounded_ns < .max else { return }
            call?.following?.deadline.rounded_ns = following.deadline.rounded_ns.subtractingSaturating(length_ns)
        } else if deadline_ns < .max, !(followed?.isFollowing ?? false) {
            schedule.position.deadline_ns = schedule.position.deadline_ns.subtractingSaturating(length_ns)
        }
    }
}
#endif
