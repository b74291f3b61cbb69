#if os(Linux)
/// How much later than its nominal deadline each call of a repeating timer comes, at random: so that the timers of a thousand
/// machines, or of a thousand connections, do not fall together.
///
///     TimerEngine.shared.schedule(after: 30, every: .seconds(30), jitter: .upTo(.seconds(3))) { _ in report() }
///
/// Uniform from zero to a bound, which it never reaches, and never negative: no call comes before its nominal deadline, nor
/// after the one that follows. The nominal deadlines stay on their grid, so nothing drifts. A call's deadline, as it is
/// reported and as lateness counts from, is the nominal one and the jitter.
///
/// The jitter of a tick follows from the seed and the nominal deadline alone. Without a seed each timer draws one: at random,
/// and inside of a virtual time one that follows from that time's own seed.
public struct Jitter: Sendable, Hashable {
    enum Bound: Sendable, Hashable {
        case length(Duration)
        /// Of the interval, 0 ... 1.
        case share(Double)
    }

    let bound: Bound
    /// What the numbers follow from; nil for another one for each timer.
    public var seed: UInt64?

    /// Up to that length, at most the interval. Zero, less, and NaN mean none.
    public static func upTo(_ length: some TimeSpan, seed: UInt64? = nil) -> Jitter {
        Jitter(bound: .length(length.asDuration ?? .zero), seed: seed)
    }

    /// Up to that share of the interval: 0 ... 1, clamped; NaN counts as 0.
    public static func share(_ share: Double, seed: UInt64? = nil) -> Jitter {
        Jitter(bound: .share(share.isNaN ? 0 : min(max(0, share), 1)), seed: seed)
    }

    /// Anywhere in the interval.
    public static let full = Jitter.share(1)

    /// The same with a seed in any case.
    package func seeded(_ random: @autoclosure () -> UInt64) -> Jitter {
        Jitter(bound: bound, seed: seed ?? random())
    }

    /// The bound for a timer of that interval.
    func bound_ns(for interval: ExactInterval) -> Int64 {
        switch bound {
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
    /// At the first deadline, as it was given.
    case given
    /// A random part of one interval after that, the same at every tick: a thousand timers of one period are spread evenly
    /// over it, even if all were started at once. Never earlier than the first deadline that was given. As for `Jitter`, the
    /// number follows from a virtual time's seed where there is one.
    case random
    /// The same by a seed.
    case seeded(UInt64)
}

extension TimerPhase {
    /// The first deadline of a timer that was given `deadline_ns`. One that fires once has no phase.
    package func first_ns(_ deadline_ns: Int64, _ recurrence: Recurrence, random: @autoclosure () -> UInt64) -> Int64 {
        guard recurrence.repeats, deadline_ns < .max else { return deadline_ns }
        let number: UInt64
        switch self {
        case .given: return deadline_ns
        case .random: number = random()
        case .seeded(let seed): number = mixed(seed)
        }
        return deadline_ns.addingSaturating(uniform(number, below: recurrence.interval.whole_ns))
    }
}

/// The generator SplitMix64 by one step: a number that follows from another one (Steele, Lea, Flood: Fast Splittable
/// Pseudorandom Number Generators, OOPSLA 2014).
@inline(__always)
package func mixed(_ number: UInt64) -> UInt64 {
    var mixed = number &+ 0x9e37_79b9_7f4a_7c15
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
}

/// A uniform number below `bound`, by multiplication (Lemire: Fast Random Integer Generation in an Interval, 2019); 0 if that
/// is not positive.
@inline(__always)
package func uniform(_ number: UInt64, below bound: Int64) -> Int64 {
    bound <= 0 ? 0 : Int64(number.multipliedFullWidth(by: UInt64(bound)).high)
}
#endif
