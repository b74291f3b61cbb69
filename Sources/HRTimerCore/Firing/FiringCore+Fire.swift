#if os(Linux)
import CHRTimer
import HRTimerLibc

// What the core's thread does.
extension FiringCore {
    package enum Poll {
        case ended
        /// There is more to do; others have a chance to take the lock before.
        case again
        case fire
        case park(Park)
    }

    /// The thread came back from a wait.
    package mutating func wakeUp() { account.wakeUp() }

    /// What to do next. Callbacks are prepared for all deadlines up to the horizon, maybe before they come, but for
    /// none after `limit_ns`.
    #if compiler(>=6.3)
    @section("hrt_hot_engine")
    #endif
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

    /// Nothing is due: tidies up a little, or parks.
    #if compiler(>=6.3)
    @section("hrt_hot_engine")
    #endif
    private mutating func rest() -> Poll {
        if tidy() { return .again }
        let park = nextPark
        self.park(until: park)
        return .park(park)
    }

    /// Prepares the next call of a pass, of the groups that are served. False if there is none.
    #if compiler(>=6.3)
    @section("hrt_hot_loop")
    #endif
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

    /// What the next two timers call is fetched while this one is called: among a thousand due timers each lies in other lines of
    /// the cache, and to wait for them took a quarter of a fire (`bench ops --operation fire`, `bench crowd --phases random`). A
    /// closure's captures are known when its owner is there, so that the owner is fetched a fire before them.
    @inline(__always)
    func fetchNext() {
        let (next, second) = expired.likelyNext
        if second.generation != 0 { fetchTarget(of: second.slot) }
        if next.generation != 0 { fetchCaptured(by: next.slot) }
        hrt_queue_fetch_next(queue)
    }

    /// Has the processor fetch what the timer calls.
    @inline(__always)
    private func fetchTarget(of slot: UInt32) {
        // Two words of the target: an owner's address and its type's, or those of a handler's code and of what it captured. So
        // nobody looks into the owner or counts a reference.
        let (target, captured) = words(of: slot)
        hrt_prefetch(target, 320)
        hrt_prefetch(captured, 64)
        hrt_note_touched(HRT_TOUCHED_OWNER, target, 320)
    }

    /// The same of what an owner's function captured.
    @inline(__always)
    private func fetchCaptured(by slot: UInt32) {
        // A fire of an outer run may have it.
        guard records[slot].hasFunctionFirst, records[slot].target != nil, let owner = words(of: slot).0 else { return }
        // Unsafe: the record keeps the owner. After the runtime's two words come the function's, the second of which is read, to be
        // prefetched alone.
        hrt_prefetch(owner.load(fromByteOffset: 24, as: UnsafeRawPointer?.self), 64)
    }

    @inline(__always)
    private func words(of slot: UInt32) -> (UnsafeRawPointer?, UnsafeRawPointer?) {
        UnsafeRawPointer(records.place(slot)).load(as: (UnsafeRawPointer?, UnsafeRawPointer?).self)
    }

    /// Prepares the call for `deadline_ns`, while there is time for it, if nothing is to be called before. False otherwise.
    #if compiler(>=6.3)
    @section("hrt_hot_precise")
    #endif
    package mutating func prepareAhead(
        of deadline_ns: Int64,
        within limit: PassLimit,
        _ fire: inout Fire
    ) -> Bool {
        // A tick that is late already might be left out: the ordinary path decides about it.
        guard firstExpired_ns == deadline_ns else { return false }
        return prepareNext(.min, within: limit, &fire)
    }

    /// For the thread's next wake: see hrt_hot.h.
    @inline(__always)
    private mutating func noteTouched(_ slot: UInt32) {
        hrt_queue_note_touched(queue, slot)
        hrt_note_touched(HRT_TOUCHED_RECORD, records.place(slot), MemoryLayout<TimerRecord>.size)
        hrt_note_touched(HRT_TOUCHED_BATCH, batch.baseAddress, 64)
        hrt_note_touched(HRT_TOUCHED_COMMIT, Unmanaged.passUnretained(commit).toOpaque(), 64)
        account.noteTouched()
    }

    /// False if the policy leaves this tick out, or if there is nothing to call.
    #if compiler(>=6.3)
    @section("hrt_hot")
    #endif
    private mutating func prepare(_ entry: ExpiredTimers.Entry, _ now_ns: Int64, _ fire: inout Fire) -> Bool {
        let slot = entry.token.slot
        // Looked up once: the compiler would do it again after each call and each write.
        let record = records.place(slot)
        fire.place_ns = entry.place_ns
        fire.sequence = entry.sequence
        fire.token = entry.token
        fire.deadline_ns = record.pointee.position.deadline_ns
        fire.isEarly = record.pointee.isEarly
        fire.begun_ns = now_ns
        fire.isAhead = entry.place_ns > now_ns
        let call_ns = max(now_ns, entry.place_ns)
        record.pointee.phase = .firing
        fetchTarget(of: slot)
        noteTouched(slot)
        // Moved, to a place that nobody else changes, so that no reference is counted.
        let target = record.pointee.target.take()
        let isToBeMade: Bool
        switch target {
        case .handler: isToBeMade = prepareHandler(call_ns, &fire)
        case .owner(let owner):
            // By `armOwned`, which writes no record.
            if record.pointee.isOwned { fire.deadline_ns = entry.place_ns }
            isToBeMade = prepare(owner, call_ns, &fire)
        case nil: return false
        }
        guard isToBeMade else {
            if isLive(fire.token) { record.pointee.target = consume target }
            return false
        }
        fill(&fire.target, consume target)
        fire.lateFrom_ns = max(fire.deadline_ns, record.pointee.lateFrom_ns)
        fire.outer = running
        running = (fire.token, hrt_thread_pointer())
        account.statistics.fires += 1
        hrt_probe_expire(slot, fire.deadline_ns, now_ns)
        if fire.isAhead { waitForCommit(fire.token, fire.place_ns) }
        return true
    }

    #if compiler(>=6.3)
    @section("hrt_hot_precise")
    #endif
    private mutating func waitForCommit(_ token: TimerToken, _ deadline_ns: Int64) {
        takeCommitted()
        records[token.slot].phase = .prepared
        prepared = token
        isRestored = false
        commit.prepare()
        parkUncommitted(until: Park(until_ns: deadline_ns, isPrecise: true))
    }

    /// A call that was committed, and whose handler runs this one's thread, is no more the prepared one.
    #if compiler(>=6.3)
    @section("hrt_hot")
    #endif
    mutating func takeCommitted() {
        if prepared == .stale { return }
        if isLive(prepared), records[prepared.slot].phase == .prepared { records[prepared.slot].phase = .firing }
        prepared = .stale
        commit.reset()
    }

    #if compiler(>=6.3)
    @section("hrt_hot_engine")
    #endif
    private mutating func prepareHandler(_ call_ns: Int64, _ fire: inout Fire) -> Bool {
        let slot = fire.token.slot
        let record = records.place(slot)
        let before = record.pointee.position.unreported
        fire.ticks = record.pointee.position
        let reported: Int?
        if record.pointee.isJittered {
            fire.jitter = jitters[slot]
            reported = record.pointee.recurrence.begin(&fire.ticks, now_ns: call_ns, &fire.jitter)
        } else {
            reported = record.pointee.recurrence.begin(&fire.ticks, now_ns: call_ns)
        }
        if let reported {
            fire.missedTicks = reported
            account.countMissed(reported - before)
            return true
        }
        account.countMissed(fire.ticks.unreported - before)
        record.pointee.position.unreported = fire.ticks.unreported
        record.pointee.phase = .idle
        if record.pointee.isJittered { jitters[slot] = fire.jitter }
        setDeadline(fire.token, fire.ticks.deadline_ns, roundedUp_as: fire.ticks.roundedUp_as)
        return false
    }

    #if compiler(>=6.3)
    @section("hrt_hot")
    #endif
    private mutating func prepare(_ owner: any TimerOwner, _ call_ns: Int64, _ fire: inout Fire) -> Bool {
        let slot = fire.token.slot
        if let later_ns = owner.laterDeadline(&self) {
            records[slot].phase = .idle
            place(fire.token, later_ns)
            return false
        }
        fire.missedTicks = 0
        guard owner.prepare(call_ns, &self, &fire) else {
            if isLive(fire.token), records[slot].phase == .firing { records[slot].phase = .idle }
            return false
        }
        account.countMissed(fire.missedTicks)
        return true
    }
}

// After a call.
extension FiringCore {
    /// The call was made and its handler has returned at `now_ns`, or it was withdrawn. True if `letGo()` of the fire
    /// has something to do, after the lock.
    #if compiler(>=6.3)
    @section("hrt_hot")
    #endif
    package mutating func finish(_ fire: inout Fire, _ now_ns: Int64, wasCalled: Bool, spun_ns: Int64 = 0) -> Bool {
        fire.waiters = waiters.release()
        running = fire.outer
        if prepared == fire.token {
            prepared = .stale
            commit.reset()
        }
        stayAwake()
        if spun_ns > 0 { account.statistics.spinTime += .nanoseconds(spun_ns) }
        if wasCalled {
            if !fire.isEarly { account.record(fire.lateness_ns(fire.called_ns)) }
        } else {
            account.statistics.fires -= 1
        }
        // Moved, as in `prepare`.
        let target = fire.target.take()
        fire.isTimerLive = isLive(fire.token)
        switch target {
        case .owner(let owner):
            if !wasCalled { account.countMissed(-fire.missedTicks) }
            owner.finish(wasCalled: wasCalled, now_ns, &self, &fire)
        default: break
        }
        fire.hasCoreEnded = isShutDown
        if fire.isTimerLive, wasCalled ? finishCall(&fire, now_ns) : restore(fire) {
            fill(&records[fire.token.slot].target, consume target)
        } else {
            // To be freed after the lock.
            fire.target = consume target
        }
        return fire.isUnfinished
    }

    /// The call was withdrawn: the timer expires again, in its former place, unless somebody armed or disarmed it
    /// meanwhile. True: it goes on.
    private mutating func restore(_ fire: borrowing Fire) -> Bool {
        // Ticks that it was to report are in the record still, unless the timer was re-armed.
        if isUntouchedSinceCall(fire.token) {
            putBack(ExpiredTimers.Entry(place_ns: fire.place_ns, sequence: fire.sequence, token: fire.token))
        }
        return true
    }

    /// Sets the next deadline of a timer that was called, unless its handler or somebody else did. False if it was the
    /// last call.
    #if compiler(>=6.3)
    @section("hrt_hot")
    #endif
    @inline(__always)
    private mutating func finishCall(_ fire: inout Fire, _ now_ns: Int64) -> Bool {
        let slot = fire.token.slot
        let record = records.place(slot)
        if fire.removesTimer {
            removeFired(fire.token)
            return false
        }
        if hrt_queue_is_armed_slot(queue, slot) { return true }
        guard record.pointee.phase == .firing || record.pointee.phase == .prepared else { return true }
        record.pointee.phase = .idle
        if record.pointee.isOwned { return true }
        guard record.pointee.recurrence.repeats else {
            removeFired(fire.token)
            return false
        }
        if record.pointee.isJittered {
            record.pointee.recurrence.end(&fire.ticks, now_ns: now_ns, &fire.jitter)
            jitters[slot] = fire.jitter
        } else {
            record.pointee.recurrence.end(&fire.ticks, now_ns: now_ns)
        }
        account.countMissed(fire.ticks.unreported)
        record.pointee.position.unreported = fire.ticks.unreported
        setDeadline(fire.token, fire.ticks.deadline_ns, roundedUp_as: fire.ticks.roundedUp_as)
        return true
    }

    /// The fire has its target, and it is not among the expired ones.
    @inline(__always)
    private mutating func removeFired(_ token: TimerToken) {
        _ = hrt_queue_remove(queue, token.c)
        records[token.slot].phase = .vacant
        forgetJitter(token.slot)
    }
}

// A thread that changes a timer withdraws its callback first.
extension FiringCore {
    /// True if the timer's callback waited for its deadline: it is not called, and the thread must be woken to see that.
    @inlinable @inline(__always)
    package mutating func withdraw(_ token: TimerToken) -> Bool {
        isPrepared(token) && withdrawPrepared()
    }

    /// Whether the timer's callback is prepared, or was committed or withdrawn since.
    @inlinable @inline(__always)
    package func isPrepared(_ token: TimerToken) -> Bool {
        prepared.slot == token.slot && prepared.generation == token.generation && prepared.owner == token.owner
    }

    @usableFromInline @inline(never)
    func withdrawPrepared() -> Bool { commit.withdraw() }

    /// Whether the timer's callback was withdrawn, by any thread, and its owner must restore the state before it, which
    /// is in `before`. True once.
    package mutating func takeWithdrawn(_ token: TimerToken) -> Bool {
        guard prepared == token, !isRestored, commit.isWithdrawn else { return false }
        isRestored = true
        return true
    }

    /// Whether the timer's handler runs, or is about to.
    func hasBegun(_ token: TimerToken) -> Bool {
        running?.token == token && (prepared != token || commit.isCommitted)
    }

    /// What to wait for until the timer's handler has returned; nil if it does not run, and in the handler itself.
    mutating func joinCall(of token: TimerToken) -> Latch? {
        // In a child of fork(2) nobody runs it.
        guard let running, running.token == token, !isCurrent(running.thread), !isInForkedChild else { return nil }
        return waiters.join()
    }
}
#endif
