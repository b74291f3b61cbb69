// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer

// What the owners of timers call. They keep their state under the core's lock.
extension FiringCore {
    /// Adds a timer for an owner, not armed yet. Returns a stale token if the core has ended.
    package mutating func addOwned(_ owner: any TimerOwner, group: FiringGroup = 0) -> TimerToken {
        if isShutDown { return .stale }
        var request = TimerRequest()
        request.isOwned = true
        request.group = group
        return add(.owner(owner), request)
    }

    /// Arms an owner's timer with these options, or disarms it if the deadline is `.max`. Leaves its position alone. Returns true
    /// if the caller must wake the thread.
    ///
    /// Does not check that the slot is live, since the owner adds the timer and is the only one that removes it. Does nothing
    /// after the core has ended.
    package mutating func arm(
        _ token: TimerToken,
        _ deadline_ns: Int64,
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
        lookAgain(deadline_ns, now_ns())
        place(token, deadline_ns)
        return mustWake(for: token, deadline_ns, now_ns()) || isWithdrawn
    }

    /// Removes an owner's timer. Moves its target to `target`, which the caller releases after unlocking.
    /// Returns true if the caller must wake the thread.
    package mutating func removeOwned(_ token: TimerToken, _ target: inout TimerTarget?) -> Bool {
        if isShutDown { return false }
        let mustWake = withdraw(token)
        _ = remove(token, &target)
        return mustWake
    }

    /// Counts a call that an owner makes without the core's thread.
    package mutating func countFire() {
        account.statistics.fires += 1
    }

    /// Records the lateness of a call that was submitted before its deadline. Any thread, with the lock held.
    package mutating func recordElsewhere(_ lateness_ns: Int64) { account.record(lateness_ns) }

    /// Counts ticks without a call of their own, which the owner found when the call was made elsewhere.
    package mutating func countMissed(_ ticks: UInt) { account.countMissed(Int(clamping: ticks)) }
}
#endif
