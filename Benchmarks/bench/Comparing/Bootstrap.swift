import Seeded

/// A range that holds the true value with the confidence asked for.
struct ConfidenceInterval: Sendable, Equatable {
    let low: Double
    let high: Double

    func excludes(_ value: Double) -> Bool { value < low || value > high }
}

/// The median of the values that come of drawing as many of them again, with putting back (Efron, Annals of Statistics 7,
/// 1979).
///
/// What is drawn are blocks, never single fires: fires of one block share the machine's mood, and are no independent
/// evidence.
enum Bootstrap {
    /// The interval of the median at 1 - `doubt`; nil for fewer than five values, of which no interval can be given.
    static func median(of values: [Double], doubt: Double = 0.01, draws: Int = 1000, seed: UInt64 = 1)
        -> ConfidenceInterval?
    {
        guard values.count >= 5 else { return nil }
        var random = SeededRandom(seed: seed)
        let medians = (0..<draws).map { _ in
            middle(values.indices.map { _ in values[Int.random(in: values.indices, using: &random)] })
        }
        .sorted()
        let cut = Int(Double(draws) * doubt / 2)
        return ConfidenceInterval(low: medians[cut], high: medians[draws - 1 - cut])
    }

    private static func middle(_ values: [Double]) -> Double {
        bench.median(values) ?? 0
    }
}
