#if os(Linux)
public import HRTimerCore

/// How long to wait before each attempt after the first: the strategies of retries, as values.
///
///     let backoff = Backoff.exponential(initial: .milliseconds(100), maximum: .seconds(10), jitter: .full)
///     for wait in backoff.waits().prefix(5) { print(wait) }
///
/// Waits are never negative and never longer than `maximum`. Without jitter they are exact; see `Backoff.Randomness` for the
/// random ones.
public struct Backoff: Sendable, Hashable {
    /// What is random about the waits, so that clients that failed together do not come back together (Brooker: Exponential
    /// Backoff And Jitter, AWS Architecture Blog, 2015).
    public enum Randomness: Sendable, Hashable {
        /// Nothing.
        case none
        /// Uniform from zero to the wait that there would be without it. The least load on the server.
        case full
        /// Half of that wait, and a uniform part of the other half: never too soon.
        case equal
        /// Uniform from the initial wait to three times the wait before, at most the maximum: the factor is not used.
        case decorrelated
    }

    private enum Growth: Sendable, Hashable {
        case factor(Double)
        case increment(Duration)
    }

    private let initial: Duration
    private let growth: Growth
    private let maximum: Duration
    /// What is random.
    public var jitter: Randomness
    /// What random waits follow from. Nil: for each retry another one; inside of a virtual time one that follows from that
    /// time's seed.
    public var seed: UInt64?

    /// Each wait is `factor` times the one before, from `initial` on, at most `maximum`.
    ///
    /// Negative lengths and NaN count as zero, a factor below one or NaN as one.
    public static func exponential(
        initial: some TimeSpan,
        factor: Double = 2,
        maximum: some TimeSpan = Duration.seconds(60),
        jitter: Randomness = .none,
        seed: UInt64? = nil
    ) -> Backoff {
        Backoff(initial, .factor(factor >= 1 ? factor : 1), maximum, jitter, seed)
    }

    /// Each wait is `increment` longer than the one before.
    public static func linear(
        initial: some TimeSpan,
        increment: some TimeSpan,
        maximum: some TimeSpan = Duration.seconds(60),
        jitter: Randomness = .none,
        seed: UInt64? = nil
    ) -> Backoff {
        Backoff(initial, .increment(max(.zero, increment.asDuration ?? .zero)), maximum, jitter, seed)
    }

    /// All waits are the same.
    public static func constant(
        _ wait: some TimeSpan,
        jitter: Randomness = .none,
        seed: UInt64? = nil
    ) -> Backoff {
        Backoff(wait, .factor(1), wait, jitter, seed)
    }

    private init(
        _ initial: some TimeSpan,
        _ growth: Growth,
        _ maximum: some TimeSpan,
        _ jitter: Randomness,
        _ seed: UInt64?
    ) {
        self.maximum = max(.zero, maximum.asDuration ?? .zero)
        self.initial = min(max(.zero, initial.asDuration ?? .zero), self.maximum)
        self.growth = growth
        self.jitter = jitter
        self.seed = seed
    }

    /// The waits of one retry, one after another, without end: for callers that wait in their own way.
    public func waits() -> Waits { Waits(self, random: TimeBase.current.randomNumber()) }

    /// An endless sequence of waits.
    public struct Waits: Sequence, IteratorProtocol, Sendable {
        private let backoff: Backoff
        /// The next wait without randomness.
        private var base_ns: Int64
        private let maximum_ns: Int64
        /// The one before, of decorrelated jitter.
        private var former_ns: Int64
        private var number: UInt64

        fileprivate init(_ backoff: Backoff, random: @autoclosure () -> UInt64) {
            self.backoff = backoff
            base_ns = backoff.initial.nanosecondsRoundedUp
            maximum_ns = backoff.maximum.nanosecondsRoundedUp
            former_ns = base_ns
            number = backoff.jitter == .none ? 0 : backoff.seed ?? random()
        }

        /// Uniform in 0 ... `bound_ns`.
        private mutating func random(upTo bound_ns: Int64) -> Int64 {
            number = mixed(number)
            return uniform(number, below: bound_ns.addingSaturating(1))
        }

        /// The next wait; never nil.
        public mutating func next() -> Duration? { .nanoseconds(next_ns()) }

        mutating func next_ns() -> Int64 {
            let base_ns = base_ns
            switch backoff.growth {
            case .factor(let factor):
                let grown = Double(base_ns) * factor
                self.base_ns = grown < Double(maximum_ns) ? Int64(grown) : maximum_ns
            case .increment(let increment):
                self.base_ns = Swift.min(base_ns.addingSaturating(increment.nanosecondsRoundedUp), maximum_ns)
            }
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
