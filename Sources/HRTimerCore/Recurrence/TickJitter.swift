// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// The jitter of one timer, with its seed.
///
/// The delay of a tick is a function of its nominal deadline. So a timer keeps nominal deadlines alone, and adds the delay to
/// those that it shows and waits for: there is nothing to restore when a call is withdrawn or the jitter changes.
///
/// An object, since few of a million timers have one: it costs the others one word, which is nil.
package final class TickJitter: Sendable {
    /// As it was set; with a seed.
    package let jitter: Jitter
    private let seed: UInt64

    /// `random` gives the seed if the jitter has none.
    package init(_ jitter: Jitter, random: @autoclosure () -> UInt64) {
        let seed = jitter.seed ?? random()
        self.seed = seed
        self.jitter = jitter.seeded(seed)
    }

    /// Returns the deadline of the call for a nominal one.
    package func deadline_ns(_ nominal_ns: Int64, _ recurrence: Recurrence) -> Int64 {
        // A deadline that never comes has no jitter, nor has a timer that does not repeat.
        if nominal_ns == .max || !recurrence.repeats { return nominal_ns }
        let number = mixed(UInt64(bitPattern: nominal_ns) &+ mixed(seed))
        return nominal_ns.addingSaturating(uniform(number, below: jitter.bound_ns(for: recurrence.interval)))
    }
}
#endif
