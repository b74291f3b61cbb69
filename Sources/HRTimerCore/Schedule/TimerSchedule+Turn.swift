public import CHRTimer

// What is due.
extension TimerSchedule {
    /// What `next` found.
    package enum Next {
        /// To be called now, or when its deadline comes.
        case due(hrt_due)
        /// The queue moves a bounded number of timers a call, and has not come to those that are due: ask again.
        case more
        /// Nothing more in this turn. If something was put off to the next one, `hasDue` says so.
        case none
    }

    /// One look at what is due, from its first call to its last.
    struct Turn: ~Copyable, Sendable {
        static var size: Int { 64 }
        // Sendable and unsafe: memory that this value alone owns.
        nonisolated(unsafe) let batch = UnsafeMutableBufferPointer<hrt_due>.allocate(capacity: Turn.size)
        var first = 0
        var count = 0
        /// The latest deadline that was called, and the last arming before the first call for it.
        var called_ns = Int64.min
        var lastArming: UInt64 = 0
        /// Armed by handlers of this turn for a deadline that it had passed already: they come in the next turn, lest they
        /// keep all others from being called.
        var putOff: [hrt_due] = []
        /// What the clock read when the first of those was: the turn goes no further, lest others keep them from being called,
        /// as time goes on.
        var limit_ns = Int64.max

        deinit { batch.deallocate() }

        mutating func clear() {
            first = 0
            count = 0
            putOff = []
            limit_ns = .max
        }
    }

    /// Begins a turn. Of what was armed before it all is called in order of (deadline, arming); so is what its handlers arm,
    /// unless that is for a deadline which the turn has passed.
    package mutating func beginTurn() {
        putBackAll()
        turn.called_ns = .min
        turn.lastArming = hrt_queue_last_arming(queue)
    }

    /// The next timer with a deadline of `now_ns` or earlier, which counts as firing from now on.
    package mutating func next(now_ns: Int64) -> Next {
        let now_ns = min(now_ns, turn.limit_ns)
        while true {
            guard turn.first < turn.count else {
                let hasTaken = take(now_ns)
                if hasTaken { continue }
                return hasDue(at: now_ns) ? .more : .none
            }
            // What a handler has armed since may come before what was taken.
            if hrt_queue_has_before(queue, turn.batch[turn.first].deadline_ns) {
                putBackBatch()
                if !take(now_ns) { return .more }
            }
            let due = turn.batch[turn.first]
            turn.first += 1
            guard isTaken(due) else { continue }
            if due.deadline_ns > turn.called_ns {
                turn.called_ns = due.deadline_ns
                turn.lastArming = hrt_queue_last_arming(queue)
            } else if due.deadline_ns < turn.called_ns || due.arming > turn.lastArming {
                turn.putOff.append(due)
                turn.limit_ns = min(turn.limit_ns, now_ns)
                continue
            }
            slots[due.token.slot].phase = .firing
            return .due(due)
        }
    }

    /// Whether something armed is due. A deadline that never comes is not due even at the end of time.
    @inlinable
    package func hasDue(at now_ns: Int64) -> Bool {
        let next_ns = hrt_queue_next_ns(queue)
        return next_ns <= now_ns && next_ns < .max
    }

    /// Whether timers were put off to the next turn.
    package var hasPutOff: Bool { !turn.putOff.isEmpty }

    /// A timer that `next` gave is not called after all: it, and all that was taken beside it, is armed as it was, in its
    /// former place among equal deadlines, unless somebody armed, disarmed or removed it meanwhile.
    package mutating func putBack(_ due: hrt_due) {
        if hrt_queue_is_live(queue, due.token), slots[due.token.slot].phase == .firing,
            !hrt_queue_is_armed_slot(queue, due.token.slot)
        {
            slots[due.token.slot].phase = .taken
            slots[due.token.slot].taken = due.arming
            putBackIfTaken(due)
        }
        putBackAll()
    }

    private mutating func take(_ now_ns: Int64) -> Bool {
        turn.first = 0
        turn.count = hrt_queue_take_due(queue, now_ns, turn.batch.baseAddress, Turn.size)
        for index in 0..<turn.count {
            let due = turn.batch[index]
            slots[due.token.slot].phase = .taken
            slots[due.token.slot].taken = due.arming
        }
        return turn.count > 0
    }

    @inline(__always)
    func isTaken(_ due: hrt_due) -> Bool {
        hrt_queue_is_live(queue, due.token) && slots[due.token.slot].phase == .taken
            && slots[due.token.slot].taken == due.arming && !hrt_queue_is_armed_slot(queue, due.token.slot)
    }

    private mutating func putBackAll() {
        if turn.first < turn.count { putBackBatch() }
        if turn.putOff.isEmpty { return }
        for due in turn.putOff { putBackIfTaken(due) }
        turn.putOff.removeAll(keepingCapacity: true)
        turn.limit_ns = .max
    }

    private mutating func putBackBatch() {
        for index in turn.first..<turn.count { putBackIfTaken(turn.batch[index]) }
        turn.first = 0
        turn.count = 0
    }

    private mutating func putBackIfTaken(_ due: hrt_due) {
        guard isTaken(due) else { return }
        slots[due.token.slot].phase = .idle
        withUnsafePointer(to: due) { hrt_queue_put_back(queue, $0) }
    }
}
