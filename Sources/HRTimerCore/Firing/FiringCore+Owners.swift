#if os(Linux)
import CHRTimer

// What owners of timers do, who keep their state under the core's lock.
extension FiringCore {
    /// A timer for an owner, not armed yet. Stale if the core has ended. The owner's first stored property is or begins with the
    /// optional function that it calls, guarded by the core's lock, so that what that captured can be fetched ahead.
    package mutating func addOwned(_ owner: any TimerOwner, group: FiringGroup = 0) -> TimerToken {
        if isShutDown { return .stale }
        let token = addRecord(armedFor_ns: .max, TimerOptions())
        let record = records.place(token.slot)
        fill(&record.pointee.target, .owner(owner))
        record.pointee.isOwned = true
        record.pointee.hasFunctionFirst = true
        hasOwners = true
        record.pointee.group = group
        record.pointee.recurrence = .once
        record.pointee.position = GridPosition(deadline_ns: .max)
        return token
    }

    /// Arms the timer of an owner, or disarms it for a deadline of `.max`. True if the thread must be woken.
    ///
    /// The owner adds the timer and alone removes it: that its slot is live need not be looked up. Does nothing after the
    /// end of the core.
    #if compiler(>=6.3)
    @section("hrt_hot_engine")
    #endif
    @inline(__always)
    package mutating func armOwned(
        _ token: TimerToken,
        deadline_ns: Int64,
        tolerance_ns: Int64,
        _ now_ns: @autoclosure () -> Int64
    ) -> Bool {
        // Shut down first: there are no records to look into then.
        guard !isShutDown, precision != .coalesced || tolerance_ns <= 0 && isPlain(token.slot), prepared == .stale,
            !hasExpired,
            deadline_ns >= parkedUntil_ns, deadline_ns > looked_ns, deadline_ns < .max
        else { return armOwnedRarely(token, deadline_ns, tolerance_ns, now_ns()) }
        hrt_queue_arm_slot(queue, token.slot, deadline_ns)
        hrt_probe_arm(token.slot, deadline_ns)
        return false
    }

    /// All of it; apart, since the rare cases save registers that the common case need not.
    @inline(never)
    private mutating func armOwnedRarely(
        _ token: TimerToken,
        _ deadline_ns: Int64,
        _ tolerance_ns: Int64,
        _ now_ns: @autoclosure () -> Int64
    ) -> Bool {
        if isShutDown { return false }
        let isWithdrawn = withdraw(token)
        if deadline_ns == .max {
            disarm(token)
            return isWithdrawn
        }
        if precision == .coalesced { setOptions(TimerOptions(tolerance_ns: max(0, tolerance_ns)), for: token) }
        place(token, deadline_ns)
        return mustWake(for: token, deadline_ns, now_ns()) || isWithdrawn
    }

    /// `armOwned(_:deadline_ns:tolerance_ns:_:)` for a timer that wants a precision too. An owner that no longer wants
    /// one calls `clearOptions(for:)`.
    #if compiler(>=6.3)
    @section("hrt_hot_precise")
    #endif
    @inline(never)
    package mutating func armOwned(
        _ token: TimerToken,
        deadline_ns: Int64,
        _ options: TimerOptions,
        _ now_ns: @autoclosure () -> Int64
    ) -> Bool {
        if isShutDown { return false }
        let isWithdrawn = withdraw(token)
        setOptions(options, for: token)
        if deadline_ns == .max {
            disarm(token)
            return isWithdrawn
        }
        place(token, deadline_ns)
        return mustWake(for: token, deadline_ns, now_ns()) || isWithdrawn
    }

    /// From its next arming on.
    package mutating func clearOptions(for token: TimerToken) {
        if !isShutDown { setOptions(TimerOptions(), for: token) }
    }

    /// The owner's timer is none any more. The target, nil before, is to be let go after the lock. True if the thread must be
    /// woken.
    package mutating func removeOwned(_ token: TimerToken, _ target: inout TimerTarget?) -> Bool {
        guard !isShutDown, isLive(token) else { return false }
        let mustWake = withdraw(token)
        _ = remove(token, &target)
        return mustWake
    }

    /// An owner makes a call without the core's thread.
    package mutating func countFire() {
        account.statistics.fires += 1
    }

    /// How late a call was that was submitted before its deadline. Any thread, with the lock held.
    package mutating func recordElsewhere(_ lateness_ns: Int64) { account.record(lateness_ns) }

    /// Ticks without a call of their own, as its owner found when the call was made elsewhere.
    package mutating func countMissed(_ ticks: UInt) { account.countMissed(Int(clamping: ticks)) }
}
#endif
