import CHRTimer

// When to be awake.
extension TimerSchedule {
    /// When to be awake, and whether to spin up to it.
    package struct Wake: Sendable {
        package var at_ns: Int64
        package var isPrecise: Bool

        package init(at_ns: Int64, isPrecise: Bool = false) {
            self.at_ns = at_ns
            self.isPrecise = isPrecise
        }
    }

    /// The deadline of the next timer, or where tolerances count the earliest end of a window; `Int64.max` if nothing is
    /// armed. Exact once `settle()` says that there is nothing more to do; before that perhaps too early.
    package var nextWake: Wake {
        let at_ns = precision == .coalesced ? hrt_queue_next_wake_ns(queue) : hrt_queue_next_ns(queue)
        if precision == .precise { return Wake(at_ns: at_ns, isPrecise: true) }
        let precise_ns = hrt_queue_next_precise_ns(queue)
        if precise_ns == .max { return Wake(at_ns: at_ns) }
        return Wake(
            at_ns: at_ns,
            isPrecise: precise_ns.subtractingSaturating(at_ns) < Self.preciseNeighbourhood_ns
        )
    }

    /// Makes `nextWake` exact: a bounded piece of work a call. True if there is more to do. Whoever is about to sleep, and
    /// has nothing better to do, calls it until it says no.
    package mutating func settle() -> Bool { hrt_queue_settle(queue) }

    /// `nextWake` when all is settled.
    package mutating func exactWake() -> Wake {
        while settle() {}
        return nextWake
    }

    /// The thread is about to sleep until then: from now on `mustWake` tells who has to wake it.
    package mutating func sleep(until wake: Wake) {
        sleepsUntil_ns = wake.at_ns
        sleepsPrecisely = wake.isPrecise
    }

    /// The thread is awake, or about to be.
    @inline(__always)
    package mutating func stayAwake() { sleepsUntil_ns = .min }

    /// Whether the thread sleeps too long for the timer armed just now. If so it counts as awake from now on, so that further
    /// deadlines send no second wake.
    @inline(__always)
    package mutating func mustWake(for token: TimerToken, _ deadline_ns: Int64) -> Bool {
        // Precise ones need the thread a little before.
        guard deadline_ns.subtractingSaturating(Self.preciseNeighbourhood_ns) < sleepsUntil_ns else { return false }
        return mustWakeRarely(for: token, deadline_ns)
    }

    @inline(never)
    private mutating func mustWakeRarely(for token: TimerToken, _ deadline_ns: Int64) -> Bool {
        let slot = slots[token.slot]
        var wake_ns = deadline_ns
        if slot.isPrecise, !sleepsPrecisely {
            wake_ns = deadline_ns.subtractingSaturating(Self.preciseNeighbourhood_ns)
        } else if precision == .coalesced {
            wake_ns = deadline_ns.addingSaturating(slot.tolerance_ns)
        }
        return mustWake(at: wake_ns)
    }

    /// The same for an instant at which the thread must be awake.
    package mutating func mustWake(at wake_ns: Int64) -> Bool {
        guard wake_ns < sleepsUntil_ns else { return false }
        stayAwake()
        return true
    }
}
