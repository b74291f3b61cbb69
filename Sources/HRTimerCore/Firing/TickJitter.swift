#if os(Linux)
/// The jitter of one timer, and the delay that it adds to the timer's present deadline.
///
/// Kept beside the recurrence, not in it: of a million timers few have one. A face keeps it where it keeps what few timers
/// have, and passes it to the recurrence at the begin and at the end of a call. The delay of a tick is a function of the
/// nominal deadline, so there is nothing else to restore when a call is withdrawn.
package struct TickJitter: Sendable, Equatable {
    private let jitter: Jitter
    private let seed: UInt64
    private var bound_ns: Int64 = 0
    /// The delay that is in the present deadline.
    package var delay_ns: Int64 = 0

    /// `random` gives the seed if the jitter has none.
    package init(_ jitter: Jitter, for recurrence: Recurrence, random: @autoclosure () -> UInt64) {
        self.jitter = jitter
        seed = jitter.seed ?? random()
        fit(to: recurrence)
    }

    /// Fits the jitter to another interval, from the next `place` on. A timer that does not repeat has no jitter.
    package mutating func fit(to recurrence: Recurrence) {
        bound_ns = recurrence.repeats ? jitter.bound_ns(for: recurrence.interval) : 0
    }

    fileprivate func delay_ns(of nominal_ns: Int64) -> Int64 {
        // A deadline that never comes has no jitter.
        if nominal_ns == .max { return 0 }
        return uniform(mixed(UInt64(bitPattern: nominal_ns) &+ mixed(seed)), below: bound_ns)
    }

    /// Sets the delay for a nominal deadline, and returns the deadline that includes it.
    package mutating func place(_ nominal_ns: Int64) -> Int64 {
        delay_ns = delay_ns(of: nominal_ns)
        return nominal_ns.addingSaturating(delay_ns)
    }

    /// Returns the nominal deadline of the present one.
    package func nominal_ns(_ deadline_ns: Int64) -> Int64 {
        deadline_ns == .max ? .max : deadline_ns.subtractingSaturating(delay_ns)
    }

    /// Replaces a nominal deadline by the one that includes its delay.
    package mutating func place(_ position: inout GridPosition) {
        position.deadline_ns = place(position.deadline_ns)
    }

    /// Replaces the present deadline by its nominal one.
    package func removeDelay(_ position: inout GridPosition) {
        position.deadline_ns = nominal_ns(position.deadline_ns)
    }
}

extension Recurrence {
    /// `begin` for a timer that may have a jitter. Before and after, the deadline of `position` includes the delay.
    package func begin(_ position: inout GridPosition, now_ns: Int64, _ jitter: inout TickJitter?) -> Int? {
        guard jitter != nil else { return begin(&position, now_ns: now_ns) }
        jitter?.removeDelay(&position)
        let reported = begin(&position, now_ns: passable_ns(position, now_ns, jitter))
        jitter?.place(&position)
        return reported
    }

    /// `end` for a timer that may have a jitter.
    package func end(_ position: inout GridPosition, now_ns: Int64, _ jitter: inout TickJitter?) {
        guard jitter != nil else { return end(&position, now_ns: now_ns) }
        jitter?.removeDelay(&position)
        end(&position, now_ns: policy.countsFromReturn ? now_ns : passable_ns(position, now_ns, jitter))
        jitter?.place(&position)
    }

    /// Returns the instant up to which nominal deadlines have come: the latest may still wait for its jitter, and is not
    /// missed.
    private func passable_ns(_ position: GridPosition, _ now_ns: Int64, _ jitter: TickJitter?) -> Int64 {
        guard let jitter, repeats, position.deadline_ns <= now_ns else { return now_ns }
        let latest_ns = position.latest_ns(at: now_ns, every: interval)
        let isDue = latest_ns.addingSaturating(jitter.delay_ns(of: latest_ns)) <= now_ns
        return isDue ? now_ns : latest_ns.subtractingSaturating(1)
    }
}
#endif
