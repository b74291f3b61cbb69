import CBench
import HRTimerCore

/// What all blocks of one subject gave. Filled between blocks, on the thread that runs the session.
final class SubjectResult {
    let subject: Subject
    let interval_ns: Int64
    /// Three digits, one more than an engine keeps.
    let lateness = LatencyHistogram(significantDigits: 3)
    private(set) var missed = 0
    private(set) var usage = Usage()
    private(set) var blocks: [BlockResult] = []
    /// Why there are no fires, or none any more.
    var skippedBecause: String?
    /// The machine lacks what it takes, which does not close the gate.
    var isExcused = false
    private var squares = SquareSum()

    /// Fires at the beginning of each block that are not among them.
    let settling: Int

    init(_ subject: Subject, interval_ns: Int64, settling: Int = 0) {
        self.settling = settling
        self.subject = subject
        self.interval_ns = interval_ns
    }

    func add(_ block: BlockResult, fires: [Fire]) {
        for fire in fires {
            lateness.record(fire.lateness_ns)
            squares.add(Double(fire.lateness_ns))
        }
        missed += block.missed
        usage = usage + block.usage
        blocks.append(block)
    }

    var standardDeviation_ns: Double? { squares.standardDeviation }

    /// How fast the subject runs away from its grid, in millionths; each block weighs as its fires do.
    var drift_ppm: Double? {
        let known = blocks.compactMap { block in block.drift_ppm.map { (drift: $0, weight: Double(block.fires)) } }
        let weight = known.reduce(0) { $0 + $1.weight }
        return weight > 0 ? known.reduce(0) { $0 + $1.drift * $1.weight } / weight : nil
    }
}

extension Fire {
    /// Below zero if the fire came early.
    var lateness_ns: Int64 { woke_ns - deadline_ns }
}

/// One block of one subject.
struct BlockResult: Sendable {
    let round: Int
    let fires: Int
    let early: Int
    let missed: Int
    let median_ns: Int64?
    /// Nil where fewer than ten fires lie beyond it.
    let p90_ns: Int64?
    let max_ns: Int64?
    let drift_ppm: Double?
    let usage: Usage
    let disturbance: Disturbance

    init(round: Int, fires: [Fire], interval_ns: Int64, usage: Usage, disturbance: Disturbance) {
        let sorted = fires.map(\.lateness_ns).sorted()
        self.round = round
        self.fires = sorted.count
        self.usage = usage
        self.disturbance = disturbance
        early = sorted.prefix { $0 < 0 }.count
        missed = Self.missed(in: fires, interval_ns: interval_ns)
        median_ns = sorted.isEmpty ? nil : sorted[(sorted.count - 1) / 2]
        p90_ns = Percentile.p90.isSupported(by: sorted.count) ? sorted[(sorted.count * 9 - 1) / 10] : nil
        max_ns = sorted.last
        drift_ppm = slope(of: fires.map { (x: Double($0.deadline_ns), y: Double($0.lateness_ns)) }).map { $0 * 1e6 }
    }

    /// Deadlines of the grid up to the last one fired for, without a fire of their own.
    private static func missed(in fires: [Fire], interval_ns: Int64) -> Int {
        guard let first = fires.first else { return 0 }
        let last_ns = fires.reduce(first.deadline_ns) { max($0, $1.deadline_ns) }
        return Int((last_ns - first.deadline_ns) / interval_ns) + 1 - fires.count
    }
}
