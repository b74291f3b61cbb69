@_exported public import Seeded

extension SeededRandom {
    /// A fresh seed, or the one in HRTIMER_SEED; printed, for the next person who looks at a failure.
    public static func fromEnvironment(_ file: StaticString = #fileID) -> SeededRandom {
        let seed = environment("HRTIMER_SEED").flatMap { UInt64($0) } ?? UInt64.random(in: 0..<1_000_000_000)
        print("\(file): HRTIMER_SEED=\(seed)")
        return SeededRandom(seed: seed)
    }
}
