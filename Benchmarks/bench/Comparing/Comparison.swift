// SPDX-License-Identifier: Apache-2.0
/// How one subject changed between two results.
enum Verdict: String, Sendable, CaseIterable {
    /// Earlier, or cheaper, by more than noise can explain.
    case faster
    /// Later, or more expensive, by more than noise can explain.
    case slower
    /// Any difference is smaller than noise makes it.
    case same
    /// The blocks differ too much among themselves for a verdict.
    case unclear

    /// Returns faster or slower only if the whole interval lies on one side of what counts as the same.
    init(_ interval: ConfidenceInterval?, same: ClosedRange<Double>) {
        guard let interval else {
            self = .unclear
            return
        }
        if interval.low > same.upperBound {
            self = .slower
        } else if interval.high < same.lowerBound {
            self = .faster
        } else {
            self = interval.low > same.lowerBound && interval.high < same.upperBound ? .same : .unclear
        }
    }
}

/// One row of a comparison: a subject at an interval that both results have.
struct ComparedRow: Sendable {
    let id: String
    let interval_ns: Int64
    /// The changes of quantities that both results have, p50 first.
    let changes: [Change]
    /// The number of early fires beyond those before.
    let newlyEarly: Int

    subscript(quantity: Quantity) -> Change? { changes.first { $0.quantity == quantity } }

    /// Slower if any quantity got worse; a gain in one quantity does not offset a loss in another.
    var verdict: Verdict {
        if newlyEarly > 0 || changes.contains(where: { $0.verdict == .slower }) { return .slower }
        if changes.contains(where: { $0.verdict == .faster }) { return .faster }
        return changes[0].verdict
    }

    /// The reasons for the verdict, in words.
    var reasons: [String] {
        let early = newlyEarly > 0 ? ["\(newlyEarly.grouped) more fired early"] : []
        return early
            + changes.compactMap { change in
                switch change.verdict {
                case .slower: change.quantity.worse
                case .faster: change.quantity.better
                case .same, .unclear: nil
                }
            }
    }
}

/// Two results, subject by subject.
struct Comparison: Sendable {
    let rows: [ComparedRow]
    let onlyBefore: [String]
    let onlyAfter: [String]

    init(before: ResultFile, after: ResultFile) throws {
        guard before.build == after.build else {
            throw BenchError(
                "one result is of a \(before.build) build, the other of a \(after.build) build: measure both alike"
            )
        }
        try before.mustHaveSameWork(as: after.work_ns)
        let measuredBefore = before.rows.filter { $0.fires > 0 }
        let measuredAfter = after.rows.filter { $0.fires > 0 }
        rows = measuredAfter.compactMap { row in
            measuredBefore.first { $0.id == row.id && $0.interval_ns == row.interval_ns }.flatMap { other in
                Self.compare(other, row, before, after)
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

    private static func compare(
        _ old: ResultRow,
        _ new: ResultRow,
        _ before: ResultFile,
        _ after: ResultFile
    ) -> ComparedRow? {
        let changes = Quantity.allCases.compactMap { change($0, old, new, before, after) }
        guard changes.first?.quantity == .p50 else { return nil }
        return ComparedRow(
            id: new.id,
            interval_ns: new.interval_ns,
            changes: changes,
            newlyEarly: max(0, new.early - old.early)
        )
    }

    /// Pairs the blocks of the same round: with the same seed they are at the same place of the run.
    private static func change(
        _ quantity: Quantity,
        _ old: ResultRow,
        _ new: ResultRow,
        _ before: ResultFile,
        _ after: ResultFile
    ) -> Change? {
        let oldValues = old.blocks.compactMap { block in quantity.value(block).map { (block.round, $0) } }
        let newValues = new.blocks.compactMap { block in quantity.value(block).map { (block.round, $0) } }
        guard let oldMiddle = median(oldValues.map(\.1)), let newMiddle = median(newValues.map(\.1)) else { return nil }
        // A thread that is merely woken hardly ever fires within 1 µs: for such subjects that share says nothing.
        if quantity == .exactShare, max(oldMiddle, newMiddle) < 0.05 { return nil }
        let rounds = Dictionary(oldValues, uniquingKeysWith: { first, _ in first })
        let differences = newValues.compactMap { round, value in rounds[round].map { value - $0 } }
        let least = quantity.least(new.kind)
        let noise = noise(quantity, new.kind, before, after, at: new.interval_ns)
        return Change(
            quantity: quantity,
            before: oldMiddle,
            after: newMiddle,
            interval: SignedRank.interval(of: differences),
            floor: max(least.amount, least.part * oldMiddle.magnitude, noise)
        )
    }

    /// Returns how much the two runs differ without any change of code: the larger of their own noise floors, and of the
    /// distance by which the kernel's own subject of that kind has moved from one run to the other.
    private static func noise(
        _ quantity: Quantity,
        _ kind: Subject.Kind,
        _ before: ResultFile,
        _ after: ResultFile,
        at interval_ns: Int64
    ) -> Double {
        let floors = [before, after].compactMap {
            $0.floor(of: kind, at: interval_ns) ?? $0.floor(of: .sleeping, at: interval_ns)
        }
        let referenceID = kind == .spinning ? "kernel.hybrid" : Subject.referenceID
        func reference(_ file: ResultFile) -> Double? {
            let row = file.rows.first { $0.id == referenceID && $0.interval_ns == interval_ns && $0.fires > 0 }
            return row.flatMap { median($0.blocks.compactMap(quantity.value)) }
        }
        let moved = reference(before).flatMap { old in reference(after).map { abs($0 - old) } }
        return (floors.compactMap(quantity.noise) + [moved ?? 0]).max() ?? 0
    }
}

extension ResultFile {
    /// Throws if a run of this build of the bench, with handlers that compute for `work_ns`, cannot be compared with the result.
    func mustBeComparable(work_ns: Int64) throws {
        guard build == buildName else {
            throw BenchError(
                "--baseline takes a result of a \(buildName) build, as this one is, and not of a \(build) build"
            )
        }
        try mustHaveSameWork(as: work_ns)
    }

    /// Throws unless handlers computed for `other_ns` too: work keeps caches and the processor in another state, and takes part in the
    /// cost of a fire.
    func mustHaveSameWork(as other_ns: Int64) throws {
        guard work_ns != other_ns else { return }
        throw BenchError(
            "one result is of --work \(timeText(work_ns)), the other of --work \(timeText(other_ns)): measure both with the same --work"
        )
    }
}
