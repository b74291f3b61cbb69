// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

/// A strategy for retries, as a value: how long to wait before each attempt after the first.
///
///     let backoff = Backoff.exponential(initial: .milliseconds(100), maximum: .seconds(10), jitter: .full)
///     for wait in backoff.waits().prefix(5) { print(wait) }
///
/// Waits are never negative and never longer than `maximum`. Without jitter they are exact; see `Backoff.Randomness` for
/// random waits.
public struct Backoff: Sendable, Hashable {
    /// How waits are randomized, so that clients that failed together do not come back together (Brooker: Exponential
    /// Backoff And Jitter, AWS Architecture Blog, 2015).
    public enum Randomness: Sendable, Hashable {
        /// Waits are not random.
        case none
        /// Uniform between zero and the wait without jitter.
        ///
        /// Puts the least load on the server.
        case full
        /// Half of the wait without jitter, plus a uniform part of the other half: never too soon.
        case equal
        /// Uniform between the initial wait and three times the previous wait, at most the maximum.
        ///
        /// The factor is not used.
        case decorrelated
    }

    private let initial: Duration
    /// What each wait is multiplied by for the next one; at least 1.
    private let factor: Double
    private let maximum: Duration
    /// How waits are randomized.
    public var jitter: Randomness
    /// The seed of random waits.
    ///
    /// If it is nil, each retry has another seed; inside of a virtual time that one follows from the virtual time's seed.
    public var seed: UInt64?

    /// Returns a backoff in which each wait is `factor` times the previous one, from `initial` on, at most `maximum`.
    ///
    /// Negative lengths and NaN count as zero. A factor below one or NaN counts as one.
    public static func exponential(
        initial: some TimeSpan,
        factor: Double = 2,
        maximum: some TimeSpan = Duration.seconds(60),
        jitter: Randomness = .none,
        seed: UInt64? = nil
    ) -> Backoff {
        Backoff(initial, factor >= 1 ? factor : 1, maximum, jitter, seed)
    }

    /// Returns a backoff in which all waits are the same.
    public static func constant(
        _ wait: some TimeSpan,
        jitter: Randomness = .none,
        seed: UInt64? = nil
    ) -> Backoff {
        Backoff(wait, 1, wait, jitter, seed)
    }

    private init(
        _ initial: some TimeSpan,
        _ factor: Double,
        _ maximum: some TimeSpan,
        _ jitter: Randomness,
        _ seed: UInt64?
    ) {
        self.maximum = max(.zero, maximum.asDuration ?? .zero)
        self.initial = min(max(.zero, initial.asDuration ?? .zero), self.maximum)
        self.factor = factor
        self.jitter = jitter
        self.seed = seed
    }

    /// Returns the waits of one retry, one after another, without end: for callers that wait in their own way.
    public func waits() -> some (Sequence<Duration> & IteratorProtocol<Duration> & Sendable) {
        Waits(self, random: TimeBase.current.randomNumber())
    }

    /// An endless sequence of waits.
    struct Waits: Sequence, IteratorProtocol, Sendable {
        private let backoff: Backoff
        /// The next wait without randomness.
        private var base_ns: Int64
        private let maximum_ns: Int64
        /// The previous wait, for decorrelated jitter.
        private var former_ns: Int64
        private var number: UInt64

        init(_ backoff: Backoff, random: @autoclosure () -> UInt64) {
            self.backoff = backoff
            base_ns = backoff.initial.nanosecondsRoundedUp
            maximum_ns = backoff.maximum.nanosecondsRoundedUp
            former_ns = base_ns
            number = backoff.jitter == .none ? 0 : backoff.seed ?? random()
        }

        /// Returns a uniform number in 0 ... `bound_ns`.
        private mutating func random(upTo bound_ns: Int64) -> Int64 {
            number = mixed(number)
            return uniform(number, below: bound_ns.addingSaturating(1))
        }

        /// Returns the next wait; never nil.
        mutating func next() -> Duration? { .nanoseconds(next_ns()) }

        mutating func next_ns() -> Int64 {
            let base_ns = base_ns
            let grown = Double(base_ns) * backoff.factor
            self.base_ns = grown < Double(maximum_ns) ? Int64(grown) : maximum_ns
            switch backoff.jitter {
            case .none: return base_ns
            case .full: return random(upTo: base_ns)
            case .equal: return base_ns - base_ns / 2 + random(upTo: base_ns / 2)
            case .decorrelated:
                let initial_ns = backoff.initial.nanosecondsRoundedUp
                let longest_ns = Swift.max(initial_ns, former_ns > maximum_ns / 3 ? maximum_ns : former_ns * 3)
                former_ns = initial_ns + random(upTo: longest_ns - initial_ns)
                return former_ns
            }
        }
    }
}
#endif
