// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerLibc

// The steps of the core's thread.
extension FiringCore {
    package enum Poll {
        case ended
        /// There is more to do. Other threads get a chance to take the lock first.
        case again
        case fire
        case park(Park)
    }

    /// Notes that the thread has come back from a wait.
    package mutating func wakeUp() { account.wakeUp() }

    /// Decides what to do next. Prepares callbacks for all deadlines up to the horizon, maybe before they come, but for none
    /// after `limit_ns`.
    package mutating func poll(_ now_ns: Int64, horizon_ns: Int64, limit_ns: Int64, _ fire: inout Fire) -> Poll {
        if isShutDown { return .ended }
        looked_ns = now_ns
        stayAwake()
        isFiring = true
        while true {
            switch next(upTo: min(max(now_ns, horizon_ns), limit_ns)) {
            case .expired(let entry):
                account.noteDue(entry.place_ns, sharesWakeups: precision == .coalesced)
                if prepare(entry, now_ns, &fire) { return .fire }
            case .more:
                return .again
            case .none:
                account.noteNothingDue()
                isFiring = false
                return rest()
            }
        }
    }

    /// Nothing is due: does a bounded part of the tidying, or parks.
    private mutating func rest() -> Poll {
        if tidy() { return .again }
        let park = nextPark
        self.park(until: park)
        return .park(park)
    }

    /// Prepares the next call of a pass, among the groups that are served. Returns false if there is none.
    package mutating func prepareNext(
        _ now_ns: Int64,
        within limit: PassLimit,
        _ fire: inout Fire
    ) -> Bool {
        while true {
            switch next(within: limit) {
            case .expired(let entry):
                account.noteDue(entry.place_ns, sharesWakeups: precision == .coalesced)
                if prepare(entry, now_ns, &fire) { return true }
            case .more: continue
            case .none: return false
            }
        }
    }

    /// Prepares the call for `deadline_ns` before that comes, if nothing is to be called earlier. Returns false otherwise.
    package mutating func prepareBefore(
        _ deadline_ns: Int64,
        within limit: PassLimit,
        _ fire: inout Fire
    ) -> Bool {
        // A tick that is already late might be left out: the ordinary path decides that.
        guard firstExpired_ns == deadline_ns else { return false }
        return prepareNext(.min, within: limit, &fire)
    }

    /// Prepares an expired timer's call, or a fire that calls nothing if the policy leaves this tick out. Returns false if there is
    /// neither.
    private mutating func prepare(_ entry: ExpiredTimers.Entry, _ now_ns: Int64, _ fire: inout Fire) -> Bool {
        let slot = entry.token.slot
        @safe let record = records.place(slot)
        record.pointee.phase = .firing
        // The end of the call that is under way, in an outer run, arms the timer again.
        guard !record.pointee.isInCall, let target = record.pointee.target else { return false }
        fire.place_ns = entry.place_ns
        fire.sequence = entry.sequence
        fire.token = entry.token
        fire.isEarly = record.pointee.isEarly
        fire.begun_ns = now_ns
        fire.isBeforeDeadline = entry.place_ns > now_ns
        fire.deadline_ns = record.pointee.schedule.deadline_ns
        fire.isSubmission = false
        fire.leftOut = 0
        fire.outer = running
        running = unsafe Call(token: fire.token, thread: hrt_thread_pointer())
        fire.tolerance_ns = allowedLateness_ns(of: slot)
        // Read before: an owner may end its timer, and with it the record.
        let lateFrom_ns = record.pointee.lateFrom_ns
        let isCalled = prepare(target, max(now_ns, entry.place_ns), &fire)
        fire.lateFrom_ns = max(fire.deadline_ns, lateFrom_ns)
        if !isCalled {
            running = fire.outer
            fire.isBeforeDeadline = false
            fire.missedTicks = fire.leftOut
            return fire.leftOut > 0
        }
        fire.target = target
        record.pointee.isInCall = true
        account.statistics.fires += 1
        account.countMissed(fire.newlyMissed)
        hrt_probe_expire(slot, fire.deadline_ns, now_ns)
        if fire.isBeforeDeadline { waitForCommit(fire.token, fire.place_ns) }
        return true
    }

    /// Prepares what to call as of `call_ns`. Returns false if there is no call.
    private mutating func prepare(_ target: TimerTarget, _ call_ns: Int64, _ fire: inout Fire) -> Bool {
        switch target {
        case .handler: prepareHandler(call_ns, &fire)
        case .owner(let owner): prepare(owner, call_ns, &fire)
        }
    }

    private mutating func waitForCommit(_ token: TimerToken, _ deadline_ns: Int64) {
        takeCommitted()
        prepared = token
        preparedPlace_ns = deadline_ns
        commit.prepare()
        parkUncommitted(until: Park(until_ns: deadline_ns, isPrecise: true))
    }

    /// Forgets a prepared call that was committed, if its handler is now running a nested run on this thread.
    mutating func takeCommitted() {
        if prepared == .stale { return }
        prepared = .stale
        commit.reset()
    }

    private mutating func prepareHandler(_ call_ns: Int64, _ fire: inout Fire) -> Bool {
        @safe let record = records.place(fire.token.slot)
        let unreported = record.pointee.schedule.position.unreported
        switch record.pointee.schedule.begin(now_ns: call_ns) {
        case .call(let missed, let following):
            running?.following = following
            fire.missedTicks = missed
            fire.newlyMissed = missed - unreported
            return true
        case .leftOut(let missed):
            fire.leftOut = missed
            account.countMissed(missed)
            record.pointee.phase = .idle
            place(fire.token, record.pointee.schedule.deadline_ns)
            return false
        }
    }

    private mutating func prepare(_ owner: any TimerOwner, _ call_ns: Int64, _ fire: inout Fire) -> Bool {
        let slot = fire.token.slot
        // `arm` does not write the deadline to the record.
        if records[slot].isOwned { fire.deadline_ns = fire.place_ns }
        if let later_ns = owner.laterDeadline(&self, than: fire.place_ns) {
            records[slot].phase = .idle
            place(fire.token, later_ns)
            return false
        }
        fire.missedTicks = 0
        guard owner.prepare(call_ns, &self, &fire) else {
            if isLive(fire.token), records[slot].phase == .firing { records[slot].phase = .idle }
            return false
        }
        fire.newlyMissed = fire.missedTicks
        return true
    }
}

// After a call.
extension FiringCore {
    /// Ends a call whose handler has returned at `now_ns`, or that was withdrawn. Returns true if the fire's `letGo()` has
    /// something to do, after unlocking.
    package mutating func finish(_ fire: inout Fire, _ now_ns: Int64, wasCalled: Bool, spun_ns: Int64 = 0) -> Bool {
        if fire.leftOut > 0 {
            // Nothing was called, and the timer is armed already.
            (fire.leftOut, fire.isTimerLive) = (0, true)
            return fire.isUnfinished
        }
        if let latch = waiters.release() { fire.waiters = latch }
        if prepared == fire.token {
            prepared = .stale
            commit.reset()
        }
        stayAwake()
        if spun_ns > 0 { account.statistics.spinTime += .nanoseconds(spun_ns) }
        if wasCalled {
            // The handler may have set the clock back, or have run while others did.
            if now_ns < looked_ns { looked_ns = now_ns }
            if !fire.isEarly { account.record(fire.lateness_ns(fire.called_ns)) }
        } else {
            account.statistics.fires -= 1
            account.countMissed(-fire.newlyMissed)
        }
        fire.isTimerLive = isLive(fire.token)
        if fire.isTimerLive { records[fire.token.slot].isInCall = false }
        if let owner = fire.owner { owner.finish(wasCalled: wasCalled, now_ns, &self, &fire) }
        fire.hasCoreEnded = isShutDown
        // The record keeps the target of a timer that goes on; another one's may be freed now, so after unlocking.
        if fire.isTimerLive, wasCalled ? finishCall(&fire, now_ns) : finishWithdrawn(fire) { fire.target = nil }
        running = fire.outer
        return fire.isUnfinished
    }

    /// Lets a timer whose call was withdrawn wait for the call again, unless it was armed or disarmed meanwhile. Returns true,
    /// since the timer goes on.
    private mutating func finishWithdrawn(_ fire: borrowing Fire) -> Bool {
        if isUntouchedSinceCall(fire.token) {
            expireAgain(ExpiredTimers.Entry(place_ns: fire.place_ns, sequence: fire.sequence, token: fire.token))
        }
        return true
    }

    /// Sets the next deadline of a timer that was called, unless its handler or somebody else has set one. Returns false if
    /// this was the timer's last call.
    private mutating func finishCall(_ fire: inout Fire, _ now_ns: Int64) -> Bool {
        let slot = fire.token.slot
        if fire.removesTimer {
            removeFired(fire.token)
            return false
        }
        guard isUntouchedSinceCall(fire.token) else { return true }
        @safe let record = records.place(slot)
        record.pointee.phase = .idle
        if record.pointee.isOwned { return true }
        guard record.pointee.schedule.recurrence.repeats, let following = running?.following else {
            removeFired(fire.token)
            return false
        }
        record.pointee.schedule.end(following, now_ns: now_ns)
        account.countMissed(record.pointee.schedule.position.unreported)
        place(fire.token, record.pointee.schedule.deadline_ns)
        return true
    }

    /// Removes a timer that was fired: the fire has its target too, and it is not among the expired ones.
    private mutating func removeFired(_ token: TimerToken) {
        _ = records.remove(token.c)
    }
}

extension FiringCore {
    /// A call that is prepared or under way.
    @safe struct Call {
        let token: TimerToken
        /// The thread that prepares or makes it. Safe: only compared.
        @safe let thread: UnsafeRawPointer
        /// What follows it; nil once somebody has set another deadline, and for owners that keep it themselves.
        var following: TimerSchedule.Following?
    }

    /// Sets what follows the call that is being prepared.
    package mutating func setFollowing(_ following: TimerSchedule.Following) { running?.following = following }

    /// Returns what follows the timer's call; nil if no call has begun, or if somebody has set another deadline since.
    package func following(_ token: TimerToken) -> TimerSchedule.Following? {
        hasBegun(token) ? running?.following : nil
    }

    /// Notes that somebody has set another deadline than the one that follows the timer's call.
    package mutating func dropFollowing(_ token: TimerToken) {
        if running?.token == token { running?.following = nil }
    }
}

// A thread that changes a timer withdraws the timer's callback first.
extension FiringCore {
    /// Withdraws the callback if it waits for its deadline. Returns true if so: the caller must wake the thread, to see that.
    package mutating func withdraw(_ token: TimerToken) -> Bool { isPrepared(token) && commit.withdraw() }

    /// Whether the timer's callback is prepared, or was since committed or withdrawn.
    package func isPrepared(_ token: TimerToken) -> Bool { prepared == token }

    /// The thread that makes the core's calls, while it makes one. Safe: only compared.
    @safe package var callingThread: UnsafeRawPointer? { running?.thread }

    /// Whether the timer's handler is running, or is about to run.
    func hasBegun(_ token: TimerToken) -> Bool {
        running?.token == token && (prepared != token || commit.isCommitted)
    }

    /// Returns what to wait for until the timer's handler has returned; nil if it is not running, and in the handler itself.
    mutating func joinCall(of token: TimerToken) -> Latch? {
        // In a child of fork(2) no thread runs it.
        guard let running, running.token == token, !isCurrent(running.thread), !isInForkedChild else { return nil }
        return waiters.join()
    }
}
#endif
