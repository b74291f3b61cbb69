#if os(Linux)
/// The jitter of one timer, and what of it is in the timer's present deadline.
///
/// Beside the recurrence and not in it: of a million timers few have one. A face keeps it where it keeps what few have, and
/// gives it to the recurrence at the begin and at the end of a call. What it adds to a tick is a function of the nominal
/// deadline, so there is nothing else to restore when a call is withdrawn.
package struct TickJitter: Sendable, Equatable {
    private let jitter: Jitter
    private let seed: UInt64
    private var bound_ns: Int64 = 0
    /// What the present deadline has of it.
    package var delay_ns: Int64 = 0

    /// `random` is taken if there is no seed.
    package init(_ jitter: Jitter, for recurrence: Recurrence, random: @autoclosure () -> UInt64) {
        self.jitter = jitter
        seed = jitter.seed ?? random()
        fit(to: recurrence)
    }

    /// For another interval from the next `place` on. A timer that does not repeat has no jitter.
    package mutating func fit(to recurrence: Recurrence) {
        bound_ns = recurrence.repeats ? jitter.bound_ns(for: recurrence.interval) : 0
    }

    fileprivate func delay_ns(of nominal_ns: Int64) -> Int64 {
        // Never has no jitter.
        if nominal_ns == .max { return 0 }
        return uniform(mixed(UInt64(bitPattern: nominal_ns) &+ mixed(seed)), below: bound_ns)
    }

    /// The deadline for a nominal one.
    package mutating func place(_ nominal_ns: Int64) -> Int64 {
        delay_ns = delay_ns(of: nominal_ns)
        return nominal_ns.addingSaturating(delay_ns)
    }

    /// The nominal deadline of the present one.
    package func nominal_ns(_ deadline_ns: Int64) -> Int64 {
        deadline_ns == .max ? .max : deadline_ns.subtractingSaturating(delay_ns)
    }

    /// From a nominal deadline to the one that holds.
    package mutating func place(_ position: inout GridPosition) {
        position.deadline_ns = place(position.deadline_ns)
    }

    /// And back.
    package func removeDelay(_ position: inout GridPosition) {
        position.deadline_ns = nominal_ns(position.deadline_ns)
    }
}

extension Recurrence {
    /// `begin` for a timer that may have a jitter. `position` has the deadline that holds, before and after.
    package func begin(_ position: inout GridPosition, now_ns: Int64, _ jitter: inout TickJitter?) -> Int? {
        guard jitter != nil else { return begin(&position, now_ns: now_ns) }
        jitter?.removeDelay(&position)
        let reported = begin(&position, now_ns: passable_ns(position, now_ns, jitter))
        jitter?.place(&position)
        return reported
    }

    /// `end` for the same.
    package func end(_ position: inout GridPosition, now_ns: Int64, _ jitter: inout TickJitter?) {
        guard jitter != nil else { return end(&position, now_ns: now_ns) }
        jitter?.removeDelay(&position)
        end(&position, now_ns: policy.countsFromReturn ? now_ns : passable_ns(position, now_ns, jitter))
        jitter?.place(&position)
    }

    /// Up to when nominal deadlines have come: the latest one may wait for its jitter still, and is not missed then.
    private func passable_ns(_ position: GridPosition, _ now_ns: Int64, _ jitter: TickJitter?) -> Int64 {
        guard let jitter, repeats, position.deadline_ns <= now_ns else { return now_ns }
        let latest_ns = position.latest_ns(at: now_ns, every: interval)
        let isDue = latest_ns.addingSaturating(jitter.delay_ns(of: latest_ns)) <= now_ns
        return isDue ? now_ns : latest_ns.subtractingSaturating(1)
    }
}
#endif
