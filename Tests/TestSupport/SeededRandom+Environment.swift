// SPDX-License-Identifier: Apache-2.0
@_exported public import Seeded

extension SeededRandom {
    /// Returns a generator with the seed in HRTIMER_SEED, or else a fresh one. Prints the seed, to repeat a failure with.
    public static func fromEnvironment(_ file: StaticString = #fileID) -> SeededRandom {
        let seed = environment("HRTIMER_SEED").flatMap { UInt64($0) } ?? UInt64.random(in: 0..<1_000_000_000)
        print("\(file): HRTIMER_SEED=\(seed)")
        return SeededRandom(seed: seed)
    }
}
