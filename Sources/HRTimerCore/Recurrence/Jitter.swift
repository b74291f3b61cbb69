// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A random delay of each call of a repeating timer after its nominal deadline, so that the timers of a thousand machines, or
/// of a thousand connections, do not fall together.
///
///     TimerEngine.shared.schedule(after: 30, every: .seconds(30), jitter: .upTo(.seconds(3))) { _ in report() }
///
/// The delay is uniform from zero to a bound, which it never reaches, and never negative: no call comes before its nominal
/// deadline, nor after the next one. The nominal deadlines stay on their grid, so nothing drifts. A call's deadline, which is
/// reported and from which lateness counts, is the nominal deadline plus the jitter.
///
/// The jitter of a tick follows from the seed and the nominal deadline alone. Without a seed each timer draws one: at random,
/// or in virtual time one that follows from that time's own seed.
public struct Jitter: Sendable, Hashable {
    enum Bound: Sendable, Hashable {
        case length(Duration)
        /// A share of the interval, 0 ... 1.
        case share(Double)
    }

    let bound: Bound
    /// The seed from which the delays follow; nil for a different one for each timer.
    public var seed: UInt64?

    /// A delay of up to that length, and of at most the interval.
    ///
    /// Zero, negative lengths and NaN mean none.
    public static func upTo(_ length: some TimeSpan, seed: UInt64? = nil) -> Jitter {
        Jitter(bound: .length(length.asDuration ?? .zero), seed: seed)
    }

    /// A delay of up to that share of the interval: 0 ... 1, clamped.
    ///
    /// NaN counts as 0. None for a timer whose interval never passes, such as a rearmable one.
    public static func share(_ share: Double, seed: UInt64? = nil) -> Jitter {
        Jitter(bound: .share(share.isNaN ? 0 : min(max(0, share), 1)), seed: seed)
    }

    /// A delay of up to the whole interval.
    public static let full = Jitter.share(1)

    /// Returns the same jitter, with a random seed if it has none.
    package func seeded(_ random: @autoclosure () -> UInt64) -> Jitter {
        Jitter(bound: bound, seed: seed ?? random())
    }

    /// Returns the bound for a timer of that interval.
    func bound_ns(for interval: ExactInterval) -> Int64 {
        switch bound {
        // No interval ever passes.
        case .share where interval.whole_ns == .max: 0
        case .length(let length): min(max(0, length.nanosecondsRoundedUp), interval.whole_ns)
        case .share(let share):
            share >= 1 ? interval.whole_ns : min(Int64(interval.nanoseconds * share), interval.whole_ns)
        }
    }
}

/// Where the grid of a repeating timer begins.
///
///     TimerEngine.shared.schedule(after: 60, every: .seconds(60), phase: .random) { _ in collect() }
public enum TimerPhase: Sendable, Hashable {
    /// The grid begins at the first deadline, as it was given.
    case given
    /// The grid begins a random part of one interval after the first deadline, never earlier.
    ///
    /// All ticks have the same phase: a thousand timers of one period are spread evenly over it, even if all were started at
    /// once. As for `Jitter`, the number follows from a virtual time's seed if there is one.
    case random
    /// As `random`, by a number that follows from the seed.
    case seeded(UInt64)
}

extension TimerPhase {
    /// Returns the first deadline of a timer that was given `deadline_ns`. A timer that fires once has no phase, nor
    /// one whose interval never passes.
    package func first_ns(_ deadline_ns: Int64, _ recurrence: Recurrence, random: @autoclosure () -> UInt64) -> Int64 {
        guard recurrence.repeats, recurrence.interval.whole_ns < .max, deadline_ns < .max else { return deadline_ns }
        let number: UInt64
        switch self {
        case .given: return deadline_ns
        case .random: number = random()
        case .seeded(let seed): number = mixed(seed)
        }
        return deadline_ns.addingSaturating(uniform(number, below: recurrence.interval.whole_ns))
    }
}

/// Returns a number that follows from another one, by one step of the generator SplitMix64 (Steele, Lea, Flood: Fast Splittable
/// Pseudorandom Number Generators, OOPSLA 2014).
@inline(__always)
package func mixed(_ number: UInt64) -> UInt64 {
    var mixed = number &+ 0x9e37_79b9_7f4a_7c15
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
}

/// Returns a uniform number below `bound`, by multiplication (Lemire: Fast Random Integer Generation in an Interval, 2019); 0
/// if `bound` is not positive.
@inline(__always)
package func uniform(_ number: UInt64, below bound: Int64) -> Int64 {
    bound <= 0 ? 0 : Int64(number.multipliedFullWidth(by: UInt64(bound)).high)
}
#endif
