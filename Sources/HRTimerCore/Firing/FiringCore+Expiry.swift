// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer

// Due timers, in order.
extension FiringCore {
    /// The result of `next`.
    package enum Next {
        /// A timer to be fired now, or when its deadline comes. It is no longer among the expired ones.
        case expired(ExpiredTimers.Entry)
        /// The queue moves only a bounded number of timers per call, and has not reached the due ones yet: call again.
        case more
        case none
    }

    /// Returns the next timer with a deadline of `bound_ns` or earlier, among the groups that are served.
    package mutating func next(upTo bound_ns: Int64) -> Next {
        next(within: PassLimit(now_ns: bound_ns, sequence: .max))
    }

    /// Returns the next timer within the limit of a pass, among the groups that are served.
    mutating func next(within limit: PassLimit) -> Next {
        if !expired.isEmpty { return nextExpired(within: limit) }
        let count = takeDue(limit.now_ns)
        if count == 0 { return isDueInQueue(at: limit.now_ns) ? .more : .none }
        // The first one is not inserted among the expired ones, only to be taken out again at once.
        if batch[0].sequence <= limit.sequence, served.contains(Int(records[batch[0].token.slot].group)) {
            if count > 1 { insert(from: 1, to: count) }
            records[batch[0].token.slot].phase = .idle
            return .expired(entry(batch[0]))
        }
        insert(from: 0, to: count)
        return nextExpired(within: limit)
    }

    /// `next(within:)` if some timers have expired.
    private mutating func nextExpired(within limit: PassLimit) -> Next {
        let bound_ns = limit.now_ns
        while true {
            let found = expired.find(within: limit, served)
            // A timer that a handler has armed since may come before the one that was found.
            let mustLook =
                found.map { unsafe hrt_queue_has_before(queue, expired[$0].place_ns) } ?? isDueInQueue(at: bound_ns)
            if mustLook {
                if !expire(upTo: bound_ns) { return .more }
                continue
            }
            guard let found else { return .none }
            let entry = expired.pop(found)
            records[entry.token.slot].phase = .idle
            return .expired(entry)
        }
    }

    /// Returns whether something is due by then in the groups that are served, after taking all of it out of the queue.
    package mutating func hasExpired(by bound_ns: Int64) -> Bool {
        expireAll(upTo: bound_ns)
        return firstExpired_ns <= bound_ns
    }

    /// Takes all that is due by `bound_ns` out of the queue, to wait until its group is served.
    package mutating func expireAll(upTo bound_ns: Int64) {
        while isDueInQueue(at: bound_ns) { _ = expire(upTo: bound_ns) }
    }

    /// Takes some due timers out of the queue. Returns false if the queue has only moved timers internally, or nothing is due.
    private mutating func expire(upTo bound_ns: Int64) -> Bool {
        let count = takeDue(bound_ns)
        if count == 0 { return false }
        insert(from: 0, to: count)
        return true
    }

    /// Takes due timers out of the queue, into `batch`. Returns their number.
    private mutating func takeDue(_ bound_ns: Int64) -> Int {
        unsafe hrt_queue_take_due(queue, bound_ns, batch.baseAddress, Self.batchSize)
    }

    private mutating func insert(from begin: Int, to end: Int) {
        var list = expired.listPlace(of: records[batch[begin].token.slot].group)
        for index in begin..<end {
            let entry = entry(batch[index])
            expire(entry)
            let group = records[entry.token.slot].group
            if !expired.isList(list, of: group) { list = expired.listPlace(of: group) }
            expired.insert(entry, at: list)
        }
    }

    /// Notes in a timer's record that it is among the expired ones.
    private mutating func expire(_ entry: ExpiredTimers.Entry) {
        let slot = entry.token.slot
        records[slot].phase = .expired
        records[slot].place_ns = entry.place_ns
        records[slot].sequence = entry.sequence
    }

    /// Lets a timer whose call was withdrawn be expired again, in the place that it had.
    mutating func expireAgain(_ entry: ExpiredTimers.Entry) {
        expire(entry)
        expired.insert(entry, records[entry.token.slot].group)
    }

    private func entry(_ due: hrt_due) -> ExpiredTimers.Entry {
        ExpiredTimers.Entry(
            place_ns: due.deadline_ns,
            sequence: due.sequence,
            token: TimerToken(due.token, owner: id)
        )
    }

    /// Returns the entry of an expired timer.
    func entry(_ token: TimerToken) -> ExpiredTimers.Entry {
        ExpiredTimers.Entry(
            place_ns: records[token.slot].place_ns,
            sequence: records[token.slot].sequence,
            token: token
        )
    }

    /// Takes a timer out of the expired ones, if it is there, because it is armed, disarmed or removed.
    mutating func leaveExpired(_ slot: UInt32) {
        guard records[slot].phase == .expired else { return }
        // `remove` looks only for the entry's place, so that the generation does not matter.
        let anyOfSlot = TimerToken(hrt_token(slot: slot, generation: 0), owner: id)
        expired.remove(entry(anyOfSlot), records[slot].group)
        records[slot].phase = .idle
    }

    /// Whether something in the queue is due. A deadline of `Int64.max` never comes, and is not due even at the end of time.
    private func isDueInQueue(at now_ns: Int64) -> Bool {
        let next_ns = unsafe hrt_queue_next_ns(queue)
        return next_ns <= now_ns && next_ns < .max
    }

    /// The deadline of the earliest expired timer of the groups that are served: it has passed, or a precise wait has taken the
    /// timer out of the queue before it.
    package var firstExpired_ns: Int64 { expired.first(served)?.place_ns ?? .max }

    /// Returns the limit of a pass that begins now.
    package func passLimit(now_ns: Int64) -> PassLimit {
        PassLimit(now_ns: now_ns, sequence: unsafe hrt_queue_last_sequence(queue))
    }
}
#endif
