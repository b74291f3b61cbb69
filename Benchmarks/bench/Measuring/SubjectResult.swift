// SPDX-License-Identifier: Apache-2.0
import CBench
import HRTimerCore

/// The results of all blocks of one subject. Filled between blocks, on the thread that runs the session.
final class SubjectResult {
    let subject: Subject
    let interval_ns: Int64
    /// Has three digits, one more than an engine keeps.
    let lateness = LatencyHistogram(significantDigits: 3)
    /// Like `lateness`, with each deadline that had no fire of its own, measured to the fire that stood for it. Subjects
    /// gain nothing here by skipping deadlines (coordinated omission).
    let intended = LatencyHistogram(significantDigits: 3)
    private(set) var worst = WorstFires()
    private(set) var missed = 0
    private(set) var usage = Usage()
    private(set) var blocks: [BlockResult] = []
    /// The reason why there are no fires, or no more fires.
    var skippedBecause: String?
    /// Whether the machine lacks what the subject needs, which does not close the gate.
    var isExcused = false
    /// The tail of the distribution, in a run with --why.
    var tail: WhyTail?
    private var squares = SquareSum()

    /// The number of fires at the beginning of each block that are left out.
    let settling: Int

    init(_ subject: Subject, interval_ns: Int64, settling: Int = 0) {
        self.settling = settling
        self.subject = subject
        self.interval_ns = interval_ns
    }

    func add(_ block: BlockResult, fires: [Fire]) {
        for fire in fires {
            lateness.record(fire.lateness_ns)
            intended.record(fire.lateness_ns)
            worst.add(fire, round: block.round)
            squares.add(Double(fire.lateness_ns))
        }
        for lateness_ns in block.missedLatenesses_ns { intended.record(lateness_ns) }
        missed += block.missed
        usage = usage + block.usage
        blocks.append(block)
    }

    /// Returns the confidence ranges of the figures, from the differences between blocks.
    func confidence(seed: UInt64) -> Confidence? {
        Confidence(blocks: blocks.map(\.latenesses_ns), costs: blocks.map(\.usage.cpuPerFire_ns), seed: seed)
    }

    /// The share of fires that are neither early nor later than 1 µs, 0 to 1.
    var exactShare: Double {
        let exact = blocks.reduce(0) { $0 + $1.exact }
        return lateness.count > 0 ? Double(exact) / Double(lateness.count) : 0
    }

    /// The time of all processors per fire, with the kernel's interrupts: neighbours pay for a fire's wake-ups too.
    var machineCPUPerFire_ns: Double? { perMeasuredFire { $0.machineCPU_ns } }

    var interruptsPerFire_ns: Double? { perMeasuredFire { $0.interrupt_ns } }

    var energyPerFire_uJ: Double? {
        blocks.contains { $0.disturbance.energy_uJ == nil } ? nil : perMeasuredFire { $0.energy_uJ ?? 0 }
    }

    private func perMeasuredFire(_ amount: (Disturbance) -> Int64) -> Double? {
        let fires = blocks.reduce(0) { $0 + $1.fires + settling }
        return fires > 0 ? Double(blocks.reduce(0) { $0 + amount($1.disturbance) }) / Double(fires) : nil
    }

    /// The number of fires on each processor.
    var processors: [Int64: Int] {
        blocks.reduce(into: [:]) { sum, block in sum.merge(block.processors, uniquingKeysWith: +) }
    }

    /// The number of fires that came on another processor than the previous one.
    var migrations: Int { blocks.reduce(0) { $0 + $1.migrations } }

    var standardDeviation_ns: Double? { squares.standardDeviation }

    /// How fast the subject drifts from its grid, in millionths; each block counts by its number of fires.
    var drift_ppm: Double? {
        let known = blocks.compactMap { block in block.drift_ppm.map { (drift: $0, weight: Double(block.fires)) } }
        let weight = known.reduce(0) { $0 + $1.weight }
        return weight > 0 ? known.reduce(0) { $0 + $1.drift * $1.weight } / weight : nil
    }
}

extension Fire {
    /// Negative if the fire came early.
    var lateness_ns: Int64 { woke_ns - deadline_ns }
}

/// One block of one subject.
struct BlockResult: Sendable {
    let round: Int
    let fires: Int
    let early: Int
    /// In ascending order.
    let latenesses_ns: [Int64]
    /// For each deadline without a fire of its own: the lateness of the fire that stood for it.
    let missedLatenesses_ns: [Int64]
    var missed: Int { missedLatenesses_ns.count }
    let median_ns: Int64?
    /// Nil if fewer than ten fires lie beyond them.
    let p90_ns: Int64?
    let p99_ns: Int64?
    let max_ns: Int64?
    let processors: [Int64: Int]
    let migrations: Int
    /// In a tuned run, the number of threads without a real-time class at the end.
    let threadsWithoutRealtime: Int
    let drift_ppm: Double?
    let usage: Usage
    let disturbance: Disturbance

    /// The number of fires that are neither early nor later than 1 µs.
    var exact: Int { fires(upTo: Pareto.exact_ns) }

    /// Returns the number of fires that are neither early nor later than that.
    func fires(upTo bound_ns: Int64) -> Int { latenesses_ns.lazy.filter { (0...bound_ns).contains($0) }.count }

    /// `next_ns` is the deadline that would have come next, if known: deadlines that the last fire skipped are missed too.
    init(
        round: Int,
        fires: [Fire],
        interval_ns: Int64,
        next_ns: Int64? = nil,
        usage: Usage,
        disturbance: Disturbance,
        threadsWithoutRealtime: Int = 0
    ) {
        let sorted = fires.map(\.lateness_ns).sorted()
        self.round = round
        self.fires = sorted.count
        self.usage = usage
        self.disturbance = disturbance
        early = sorted.prefix { $0 < 0 }.count
        latenesses_ns = sorted
        missedLatenesses_ns = Self.missed(in: fires, next_ns: next_ns, interval_ns: interval_ns)
        median_ns = sorted.isEmpty ? nil : sorted[(sorted.count - 1) / 2]
        p90_ns = Percentile.p90.isSupported(by: sorted.count) ? sorted[(sorted.count * 9 - 1) / 10] : nil
        p99_ns = Percentile.p99.isSupported(by: sorted.count) ? sorted[(sorted.count * 99 - 1) / 100] : nil
        processors = fires.reduce(into: [:]) { $0[$1.processor, default: 0] += 1 }
        migrations = zip(fires, fires.dropFirst()).lazy.filter { $0.processor != $1.processor }.count
        self.threadsWithoutRealtime = threadsWithoutRealtime
        max_ns = sorted.last
        drift_ppm = slope(of: fires.map { (x: Double($0.deadline_ns), y: Double($0.lateness_ns)) }).map { $0 * 1e6 }
    }

    /// Returns the lateness of each deadline between two fires, at the time of the first of the two.
    private static func missed(in fires: [Fire], next_ns: Int64?, interval_ns: Int64) -> [Int64] {
        fires.indices.flatMap { index in
            let fire = fires[index]
            let following_ns = index + 1 < fires.count ? fires[index + 1].deadline_ns : next_ns
            // Rounded, because some grids are not in whole ns.
            let steps = ((following_ns ?? fire.deadline_ns) - fire.deadline_ns + interval_ns / 2) / interval_ns
            return steps < 2 ? [] : (1..<steps).map { fire.lateness_ns - $0 * interval_ns }
        }
    }
}
