/// A small random generator with a seed, SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
/// OOPSLA 2014), so that a failing run can be had again.
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// The numbers that belong to `seed`.
    public init(seed: UInt64) {
        state = seed
    }

    /// A fresh seed, or the one in HRTIMER_SEED; printed, for the next person who looks at a failure.
    public static func fromEnvironment(_ file: StaticString = #fileID) -> SeededRandom {
        let seed = environment("HRTIMER_SEED").flatMap { UInt64($0) } ?? UInt64.random(in: 0..<1_000_000_000)
        print("\(file): HRTIMER_SEED=\(seed)")
        return SeededRandom(seed: seed)
    }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
