/// What is compared of a subject.
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

    /// What it is called if it got worse, and better.
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

    /// Of a block: ns, or a share.
    func value(_ block: ResultRow.Block) -> Double? {
        switch self {
        case .p50: block.p50_ns.map(Double.init)
        case .p90: block.p90_ns.map(Double.init)
        case .p99: block.p99_ns.map(Double.init)
        case .exactShare: block.exactShare
        case .cpuPerFire: block.cpuPerFire_ns
        }
    }

    /// What two measurements of the same thing differed by in that run.
    func noise(_ floor: ResultFile.Floor) -> Double? {
        switch self {
        case .p50: Double(floor.p50_ns)
        case .p90: floor.p90_ns.map(Double.init)
        case .p99: floor.p99_ns.map(Double.init)
        case .exactShare: floor.exactShare
        case .cpuPerFire: floor.cpuPerFire_ns
        }
    }

    /// The least difference that is looked at, in its own unit, and as a part of what was. What spins is exact to tens of ns, what
    /// is woken is not; the tail of both is the machine's.
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
    /// Medians of the blocks.
    let before: Double
    let after: Double
    /// Of the difference between blocks of the same round; nil for too few pairs.
    let interval: ConfidenceInterval?
    /// Below this a difference says nothing.
    let floor: Double

    var difference: Double { after - before }

    /// Faster or slower only if the interval excludes zero and all of it lies beyond the floor.
    var verdict: Verdict {
        guard let interval else { return .unclear }
        let isMoreWorse = quantity != .exactShare
        if interval.low > floor { return isMoreWorse ? .slower : .faster }
        if interval.high < -floor { return isMoreWorse ? .faster : .slower }
        if interval.low > -floor, interval.high < floor { return .same }
        return .unclear
    }
}
