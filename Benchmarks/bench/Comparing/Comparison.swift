/// What became of one subject between two results.
enum Verdict: String, Sendable, CaseIterable {
    /// Sooner, or cheaper, by more than noise can explain.
    case faster
    /// Later, or dearer, by more than noise can explain.
    case slower
    /// Any difference is smaller than what noise makes.
    case same
    /// The blocks differ too much among themselves to decide.
    case unclear
}

/// One quantity of one subject in two results.
struct Change: Sendable, Equatable {
    let before: Double
    let after: Double
    /// Of the median difference between blocks of the same round; nil for fewer than five pairs.
    let interval: ConfidenceInterval?
    /// Below this a difference says nothing.
    let floor: Double

    var difference: Double { after - before }

    /// Faster or slower only if the interval excludes zero and all of it lies beyond the floor.
    var verdict: Verdict {
        guard let interval else { return .unclear }
        if interval.low > floor { return .slower }
        if interval.high < -floor { return .faster }
        if interval.low > -floor, interval.high < floor { return .same }
        return .unclear
    }
}

/// One row of a comparison: a subject at an interval that both results have.
struct ComparedRow: Sendable {
    let id: String
    let interval_ns: Int64
    let p50: Change
    let p90: Change?
    let cpu: Change?
    /// Of all fires; nil where either has too few.
    let p99: (before: Int64, after: Int64)?
    /// Early fires that were not there before.
    let newlyEarly: Int

    /// Slower if anything got worse; a gain in one thing does not offset a loss in another.
    var verdict: Verdict {
        let verdicts = [p50.verdict, cpu?.verdict].compactMap(\.self)
        if newlyEarly > 0 || verdicts.contains(.slower) { return .slower }
        if verdicts.contains(.faster) { return .faster }
        return p50.verdict
    }
}

/// Two results, subject by subject.
struct Comparison: Sendable {
    let rows: [ComparedRow]
    let onlyBefore: [String]
    let onlyAfter: [String]

    /// The least difference that is looked at, and the least share: two runs of one build differ by as much.
    static let leastTime_ns = 1000.0
    static let leastShare = 0.05

    init(before: ResultFile, after: ResultFile) throws {
        guard before.build == after.build else {
            throw BenchError(
                "one result is of a \(before.build) build, the other of a \(after.build) build: measure both alike"
            )
        }
        let measuredBefore = before.rows.filter { $0.fires > 0 }
        let measuredAfter = after.rows.filter { $0.fires > 0 }
        rows = measuredAfter.compactMap { row in
            measuredBefore.first { $0.id == row.id && $0.interval_ns == row.interval_ns }.flatMap { other in
                Self.compare(other, row, Noise(before, after, at: row.interval_ns))
            }
        }
        let names = Set(rows.map { "\($0.id)@\($0.interval_ns)" })
        func unmatched(_ rows: [ResultRow]) -> [String] {
            rows.filter { !names.contains("\($0.id)@\($0.interval_ns)") }.map(\.name)
        }
        onlyBefore = unmatched(measuredBefore)
        onlyAfter = unmatched(measuredAfter)
        if rows.isEmpty {
            throw BenchError("the results have no subject in common that was measured at the same interval")
        }
    }

    func count(_ verdict: Verdict) -> Int { rows.lazy.filter { $0.verdict == verdict }.count }

    private static func compare(_ before: ResultRow, _ after: ResultRow, _ noise: Noise) -> ComparedRow? {
        guard
            let p50 = change(before, after, noise.p50_ns, least: leastTime_ns, { $0.p50_ns.map(Double.init) })
        else { return nil }
        return ComparedRow(
            id: after.id,
            interval_ns: after.interval_ns,
            p50: p50,
            p90: change(before, after, noise.p50_ns, least: leastTime_ns) { $0.p90_ns.map(Double.init) },
            cpu: change(before, after, noise.cpu_ns, least: leastTime_ns) { $0.cpuPerFire_ns },
            p99: before.lateness.p99.flatMap { old in after.lateness.p99.map { (old, $0) } },
            newlyEarly: max(0, after.early - before.early)
        )
    }

    /// Pairs the blocks of the same round: with the same seed they stand at the same place of the run.
    private static func change(
        _ before: ResultRow,
        _ after: ResultRow,
        _ noise: Double,
        least: Double,
        _ value: (ResultRow.Block) -> Double?
    ) -> Change? {
        let old = before.blocks.compactMap { block in value(block).map { (block.round, $0) } }
        let new = after.blocks.compactMap { block in value(block).map { (block.round, $0) } }
        guard let oldMiddle = median(old.map(\.1)), let newMiddle = median(new.map(\.1)) else { return nil }
        let rounds = Dictionary(old, uniquingKeysWith: { first, _ in first })
        let differences = new.compactMap { round, value in rounds[round].map { value - $0 } }
        return Change(
            before: oldMiddle,
            after: newMiddle,
            interval: Bootstrap.median(of: differences),
            floor: max(least, leastShare * oldMiddle.magnitude, noise)
        )
    }
}

extension ResultFile {
    /// Throws if this bench, as it is built, cannot be held against the result.
    func mustBeComparable() throws {
        guard build != buildName else { return }
        throw BenchError(
            "--baseline takes a result of a \(buildName) build, as this one is, and not of a \(build) build"
        )
    }
}

/// What the two runs differ by although nothing changed: their own noise floors, and how far the reference, which is the
/// kernel alone, has moved from one to the other.
struct Noise: Sendable {
    let p50_ns: Double
    let cpu_ns: Double

    init(_ before: ResultFile, _ after: ResultFile, at interval_ns: Int64) {
        let floors = [before, after].compactMap { $0.floor(at: interval_ns) }
        func reference(_ file: ResultFile) -> ResultRow? {
            file.rows.first { $0.id == Subject.referenceID && $0.interval_ns == interval_ns && $0.fires > 0 }
        }
        func moved(_ value: (ResultRow) -> Double?) -> Double {
            guard
                let old = reference(before).flatMap(value),
                let new = reference(after).flatMap(value)
            else { return 0 }
            return (new - old).magnitude
        }
        p50_ns = ([moved { $0.lateness.p50.map(Double.init) }] + floors.map { Double($0.p50_ns) }).max() ?? 0
        cpu_ns = ([moved { $0.cpuPerFire_ns }] + floors.compactMap(\.cpuPerFire_ns)).max() ?? 0
    }
}
