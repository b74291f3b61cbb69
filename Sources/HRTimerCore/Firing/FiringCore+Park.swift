// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer

/// An instant to park until, and whether to be awake a spin window before it.
package struct Park: Sendable {
    package var until_ns: Int64
    package var isPrecise: Bool

    package init(until_ns: Int64, isPrecise: Bool = false) {
        self.until_ns = until_ns
        self.isPrecise = isPrecise
    }
}

// When to be awake.
extension FiringCore {
    /// The deadline of the next timer or, where tolerances count, the earliest end of a window; `Int64.max` if nothing is
    /// armed. Exact once `normalize()` has returned false; before that it may be too early.
    package var nextPark: Park {
        let park = nextParkOfQueue
        // A precise wait that was interrupted has already taken this timer out of the queue.
        let taken_ns = firstExpired_ns
        return taken_ns == .max ? park : Park(until_ns: min(park.until_ns, taken_ns), isPrecise: true)
    }

    private var nextParkOfQueue: Park {
        let until_ns = unsafe precision == .coalesced ? hrt_queue_next_wake_ns(queue) : hrt_queue_next_ns(queue)
        if precision == .precise { return Park(until_ns: until_ns, isPrecise: true) }
        let precise_ns = unsafe hrt_queue_next_precise_ns(queue)
        if precise_ns == .max { return Park(until_ns: until_ns) }
        return Park(
            until_ns: until_ns,
            isPrecise: precise_ns.subtractingSaturating(until_ns) < Self.preciseNeighbourhood_ns
        )
    }

    /// The deadline of the next precise timer, exact when `nextPark` is; `Int64.max` if there is none.
    package var nextPrecise_ns: Int64 {
        let queue_ns = unsafe precision == .precise ? hrt_queue_next_ns(queue) : hrt_queue_next_precise_ns(queue)
        return min(queue_ns, firstExpired_ns)
    }

    /// Does a bounded part of the work that makes `nextPark` exact. Returns true if there is more to do.
    package mutating func normalize() -> Bool { unsafe hrt_queue_normalize(queue) }

    /// Returns `nextPark` after normalizing everything, so that it is exact.
    package mutating func exactPark() -> Park {
        while normalize() {}
        return nextPark
    }

    /// Returns the earliest deadline as users see it: asks the owners, which may have moved deadlines without telling the core.
    /// `Int64.max` if nothing is armed. O(timers) if there are owners; no hot path calls it.
    package mutating func exactDeadline() -> Int64 {
        let until_ns = exactPark().until_ns
        guard hasOwners, until_ns < .max else { return until_ns }
        var earliest_ns = Int64.max
        let queue = unsafe queue
        records.forEachSlot { slot, record in
            // A precise wait that was interrupted has taken some out of the queue. Their owners are asked too.
            var deadline_ns = unsafe record.phase == .expired ? record.place_ns : hrt_queue_slot_wake_ns(queue, slot)
            if deadline_ns >= earliest_ns { return }
            switch record.target {
            case .owner(let owner): deadline_ns = owner.shownDeadline_ns(deadline_ns)
            default: break
            }
            earliest_ns = min(earliest_ns, deadline_ns)
        }
        return earliest_ns
    }

    /// Notes that the thread is about to park. From now on `mustWake` says who has to wake it.
    package mutating func park(until park: Park) {
        takeCommitted()
        parkUncommitted(until: park)
    }

    mutating func parkUncommitted(until park: Park) {
        parkedUntil_ns = park.until_ns
        parksPrecisely = park.isPrecise
    }

    /// Notes that the thread is awake, or about to be.
    package mutating func stayAwake() { parkedUntil_ns = .min }

    /// Notes that the clock was moved. While nothing is being fired, this counts as a poll that found nothing due.
    package mutating func look(at now_ns: Int64) {
        if !isFiring { looked_ns = now_ns }
    }

    /// Parks without firing what may be due. Counts as a poll.
    package mutating func parkAgain(_ now_ns: Int64) {
        if isShutDown { return }
        looked_ns = now_ns
        isFiring = false
        park(until: exactPark())
    }

    /// Whether the thread is parked, or spins until a deadline.
    package var isParked: Bool { parkedUntil_ns != .min && !commit.isCommitted }

    /// Whether a callback is prepared, and the thread spins until its deadline.
    package var isSpinning: Bool { prepared != .stale && !commit.isCommitted }

    /// Returns true if the caller must wake the thread for a deadline that was set just now. `now_ns` is evaluated only if the
    /// deadline may be past.
    package mutating func mustWake(
        for token: TimerToken,
        _ deadline_ns: Int64,
        _ now_ns: @autoclosure () -> Int64
    ) -> Bool {
        if deadline_ns < parkedUntil_ns || deadline_ns <= looked_ns {
            records[token.slot].lateFrom_ns = parkedUntil_ns == .min ? looked_ns : now_ns()
        }
        return mustWake(for: token, deadline_ns)
    }

    /// Returns true if the caller must wake the thread for a deadline from which lateness counts in any case.
    package mutating func mustWake(for token: TimerToken, _ deadline_ns: Int64) -> Bool {
        // A precise deadline needs the thread a little earlier.
        guard deadline_ns.subtractingSaturating(Self.preciseNeighbourhood_ns) < parkedUntil_ns else { return false }
        var wake_ns = deadline_ns
        if records[token.slot].isPrecise, !parksPrecisely {
            wake_ns = deadline_ns.subtractingSaturating(Self.preciseNeighbourhood_ns)
        } else if precision == .coalesced {
            wake_ns = deadline_ns.addingSaturating(records[token.slot].allowedTolerance_ns)
        }
        return mustWake(at: wake_ns)
    }

    /// Returns true if the caller must wake the thread so that it is awake at `wake_ns`. From then on the thread counts as
    /// awake, so that further deadlines send no second wake, and a prepared callback is withdrawn.
    package mutating func mustWake(at wake_ns: Int64) -> Bool {
        guard wake_ns < parkedUntil_ns else { return false }
        stayAwake()
        // If it is too late to withdraw the callback, no wake is needed: the thread polls again after the call.
        if prepared != .stale, !commit.withdraw() { return false }
        account.statistics.wakesSent += 1
        return true
    }
}

// Memory.
extension FiringCore {
    /// Does a bounded part of the work that is better done before the thread parks. Returns true if there is more to do.
    package mutating func tidy() -> Bool { normalize() || trim() }

    /// Gives back a bounded part of the memory that no timer needs any more. Returns true if there is more to do.
    package mutating func trim() -> Bool {
        unsafe wantsTrim && hrt_queue_trim(queue)
    }

    /// Whether trimming is worth while. O(1).
    package var wantsTrim: Bool { unsafe hrt_queue_wants_trim(queue) }
}
#endif
