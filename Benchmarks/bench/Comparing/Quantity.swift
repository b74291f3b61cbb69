// SPDX-License-Identifier: Apache-2.0
/// A quantity of a subject that is compared.
enum Quantity: String, Sendable, CaseIterable {
    case p50, p90, p99, exactShare, cpuPerFire

    var name: String {
        switch self {
        case .p50: "p50"
        case .p90: "p90"
        case .p99: "p99"
        case .exactShare: "≤ 1 µs"
        case .cpuPerFire: "CPU"
        }
    }

    /// The name in JSON.
    var key: String {
        switch self {
        case .p50: "p50_ns"
        case .p90: "p90_ns"
        case .p99: "p99_ns"
        case .exactShare: "within_1us_share"
        case .cpuPerFire: "cpu_ns_per_fire"
        }
    }

    /// The words for a quantity that got worse, and for one that got better.
    var worse: String {
        switch self {
        case .p50, .p90, .p99: "later at \(name)"
        case .exactShare: "fewer within 1 µs"
        case .cpuPerFire: "dearer"
        }
    }

    var better: String {
        switch self {
        case .p50, .p90, .p99: "earlier at \(name)"
        case .exactShare: "more within 1 µs"
        case .cpuPerFire: "cheaper"
        }
    }

    /// Returns the quantity's value in a block: ns, or a share.
    func value(_ block: ResultRow.Block) -> Double? {
        switch self {
        case .p50: block.p50_ns.map(Double.init)
        case .p90: block.p90_ns.map(Double.init)
        case .p99: block.p99_ns.map(Double.init)
        case .exactShare: block.exactShare
        case .cpuPerFire: block.cpuPerFire_ns
        }
    }

    /// Returns by how much two measurements of the same subject differed in that run.
    func noise(_ floor: ResultFile.Floor) -> Double? {
        switch self {
        case .p50: Double(floor.p50_ns)
        case .p90: floor.p90_ns.map(Double.init)
        case .p99: floor.p99_ns.map(Double.init)
        case .exactShare: floor.exactShare
        case .cpuPerFire: floor.cpuPerFire_ns
        }
    }

    /// Returns the least difference that counts, in the quantity's own unit, and as a part of the old value. Subjects that
    /// spin are exact to tens of ns, those that are woken are not; the tail of both depends on the machine.
    func least(_ kind: Subject.Kind) -> (amount: Double, part: Double) {
        switch self {
        case .p50: kind == .spinning ? (100, 0) : (1000, 0.05)
        case .p90: kind == .spinning ? (200, 0.1) : (2000, 0.1)
        case .p99: kind == .spinning ? (500, 0.2) : (5000, 0.2)
        case .exactShare: (0.02, 0)
        case .cpuPerFire: (500, 0.02)
        }
    }

    func text(_ value: Double) -> String {
        self == .exactShare ? "\((value * 100).formatted(decimals: 1)) %" : timeText(value)
    }
}

/// One quantity of one subject in two results.
struct Change: Sendable, Equatable {
    let quantity: Quantity
    /// The medians of the blocks.
    let before: Double
    let after: Double
    /// The interval of the difference between blocks of the same round; nil for too few pairs.
    let interval: ConfidenceInterval?
    /// Smaller differences mean nothing.
    let floor: Double

    var difference: Double { after - before }

    /// Faster or slower only if the whole interval lies beyond the floor, on one side of zero.
    var verdict: Verdict {
        // More of the exact fires is better, more of anything else is worse.
        let isReversed = quantity == .exactShare
        let worse = interval.map { isReversed ? ConfidenceInterval(low: -$0.high, high: -$0.low) : $0 }
        return Verdict(worse, same: -floor...floor)
    }
}
