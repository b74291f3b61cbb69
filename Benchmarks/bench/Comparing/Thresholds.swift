import Foundation
import Glibc

/// The limits that a user's CI sets for a result: counts, and ratios to another subject of the same run. There are no
/// limits in microseconds: on a shared machine they would say more about the neighbours than about the code.
struct Thresholds: Decodable, Sendable {
    let rules: [Rule]

    /// Limits for all subjects whose id matches. Only the limits that are set are checked.
    struct Rule: Decodable, Sendable {
        let id: String
        var interval_ns: Int64?
        var earlyMax: Int?
        /// The share of missed deadlines in all deadlines.
        var missedShareMax: Double?
        var wakeupsMax: Double?
        var switchesMax: Double?
        var ratioTo: String?
        var p50RatioMax: Double?
        var p90RatioMax: Double?
        var p99RatioMax: Double?
        var cpuRatioMax: Double?
        /// The least share of all fires that come within 1 µs, 0 to 1.
        var exactShareMin: Double?
        /// The least ratio of that share to the other subject's.
        var exactShareRatioMin: Double?
        /// Whether a subject that could not run passes.
        var maySkip: Bool?

        enum CodingKeys: String, CodingKey, CaseIterable {
            case id, interval_ns
            case earlyMax = "early_max"
            case missedShareMax = "missed_share_max"
            case wakeupsMax = "wakeups_per_fire_max"
            case switchesMax = "context_switches_per_fire_max"
            case ratioTo = "ratio_to"
            case p50RatioMax = "p50_ratio_max"
            case p90RatioMax = "p90_ratio_max"
            case p99RatioMax = "p99_ratio_max"
            case cpuRatioMax = "cpu_ratio_max"
            case exactShareMin = "within_1us_share_min"
            case exactShareRatioMin = "within_1us_share_ratio_min"
            case maySkip = "may_skip"
        }
    }

    static func read(_ path: String) throws -> Thresholds {
        try parse(readFile(path), name: path)
    }

    static func parse(_ data: Data, name: String) throws -> Thresholds {
        let thresholds: Thresholds = try decodeJSON(data, name: name)
        if thresholds.rules.isEmpty { throw BenchError("\(name): rules is empty, and so nothing would be checked") }
        try refuseUnknownMembers(data, name: name)
        for (number, rule) in thresholds.rules.enumerated() {
            let ratios = [
                rule.p50RatioMax, rule.p90RatioMax, rule.p99RatioMax, rule.cpuRatioMax, rule.exactShareRatioMin,
            ]
            let hasRatio = ratios.contains { $0 != nil }
            if hasRatio, rule.ratioTo == nil {
                throw BenchError("\(name): rules[\(number)] has a ratio, and no ratio_to that says of what")
            }
            if !hasRatio, rule.limits.isEmpty { throw BenchError("\(name): rules[\(number)] sets no limit") }
        }
        return thresholds
    }

    /// A misspelled limit would never be exceeded.
    private static func refuseUnknownMembers(_ data: Data, name: String) throws {
        struct File: Decodable {
            let rules: [[String: Ignored]]
        }
        struct Ignored: Decodable {
            init(from decoder: any Decoder) {}
        }
        let known = Set(Rule.CodingKeys.allCases.map(\.rawValue))
        let file: File = try decodeJSON(data, name: name)
        for (number, rule) in file.rules.enumerated() {
            if let unknown = rule.keys.sorted().first(where: { !known.contains($0) }) {
                let takes = Rule.CodingKeys.allCases.map(\.rawValue).joined(separator: ", ")
                throw BenchError("\(name): rules[\(number)] has '\(unknown)'; a rule takes \(takes)")
            }
        }
    }
}

extension Thresholds.Rule {
    /// A bound that a value must not exceed, or must reach.
    struct Limit: Sendable {
        let name: String
        let bound: Double
        var isLeast = false
        let value: @Sendable (ResultRow) -> Double?

        func isMet(by value: Double) -> Bool { isLeast ? value >= bound : value <= bound }
    }

    /// The limits on counts and shares.
    var limits: [Limit] {
        var limits: [Limit] = []
        if let earlyMax { limits.append(Limit(name: "early", bound: Double(earlyMax)) { Double($0.early) }) }
        if let missedShareMax {
            limits.append(
                Limit(name: "missed_share", bound: missedShareMax) {
                    Double($0.missed) / Double(max(1, $0.missed + $0.fires))
                }
            )
        }
        if let wakeupsMax { limits.append(Limit(name: "wakeups_per_fire", bound: wakeupsMax, value: \.wakeupsPerFire)) }
        if let switchesMax {
            limits.append(Limit(name: "context_switches_per_fire", bound: switchesMax, value: \.switchesPerFire))
        }
        if let exactShareMin {
            limits.append(Limit(name: "within_1us_share", bound: exactShareMin, isLeast: true, value: \.exactShare))
        }
        return limits
    }

    /// Returns the limits on ratios to another row of the same run.
    func ratios(to base: ResultRow) -> [Limit] {
        func ratio(
            _ bound: Double?,
            _ name: String,
            isLeast: Bool = false,
            _ value: @escaping @Sendable (ResultRow) -> Double?
        ) -> [Limit] {
            guard let bound else { return [] }
            return [
                Limit(name: "\(name) / \(base.id)", bound: bound, isLeast: isLeast) { row in
                    value(row).flatMap { own in value(base).flatMap { $0 > 0 ? own / $0 : nil } }
                }
            ]
        }
        return ratio(p50RatioMax, "p50") { $0.lateness.p50.map(Double.init) }
            + ratio(p90RatioMax, "p90") { $0.lateness.p90.map(Double.init) }
            + ratio(p99RatioMax, "p99") { $0.lateness.p99.map(Double.init) }
            + ratio(cpuRatioMax, "CPU") { $0.cpuPerFire_ns }
            + ratio(exactShareRatioMin, "within_1us_share", isLeast: true) { $0.exactShare }
    }
}

/// The check of one limit for one subject.
struct CheckLine: Sendable, Equatable {
    let name: String
    let isMet: Bool
    let text: String
}

extension Thresholds {
    /// Checks every limit of every rule against every row that it matches. A rule that matches no row is not met: a renamed
    /// subject must not pass unnoticed.
    func check(_ file: ResultFile) -> [CheckLine] {
        rules.flatMap { rule -> [CheckLine] in
            let rows = file.rows.filter { row in
                fnmatch(rule.id, row.id, 0) == 0 && (rule.interval_ns == nil || rule.interval_ns == row.interval_ns)
            }
            guard !rows.isEmpty else {
                return [CheckLine(name: rule.id, isMet: false, text: "the result has no such subject")]
            }
            return rows.flatMap { check($0, rule, file) }
        }
    }

    private func check(_ row: ResultRow, _ rule: Rule, _ file: ResultFile) -> [CheckLine] {
        guard row.fires > 0 else {
            let reason = row.skippedBecause ?? "it has no fires"
            return [CheckLine(name: row.name, isMet: rule.maySkip == true, text: "not measured: \(reason)")]
        }
        var limits = rule.limits
        if let other = rule.ratioTo {
            let base = file.rows.first { $0.id == other && $0.interval_ns == row.interval_ns && $0.fires > 0 }
            guard let base else {
                return [
                    CheckLine(name: row.name, isMet: false, text: "\(other), which ratio_to names, was not measured")
                ]
            }
            limits += rule.ratios(to: base)
        }
        return limits.map { limit in
            guard let value = limit.value(row) else {
                return CheckLine(name: row.name, isMet: false, text: "\(limit.name) is not known: too few fires")
            }
            let decimals = limit.bound.rounded() == limit.bound && value.rounded() == value ? 0 : 3
            let bound = "\(limit.isLeast ? "at least" : "at most") \(limit.bound.formatted(decimals: decimals))"
            let text = "\(limit.name) \(value.formatted(decimals: decimals)), \(bound)"
            return CheckLine(name: row.name, isMet: limit.isMet(by: value), text: text)
        }
    }
}
