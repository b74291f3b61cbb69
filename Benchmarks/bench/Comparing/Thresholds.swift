// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc

/// The limits that a user's CI sets for a result: counts, and ratios to another subject of the same run. There are no
/// limits in microseconds: on a shared machine they would say more about the neighbours than about the code.
struct Thresholds: Decodable, Sendable {
    let rules: [Rule]

    /// Limits for all subjects whose id matches. Only the limits that are set are checked.
    struct Rule: Sendable {
        let id: String
        let interval_ns: Int64?
        /// The subject of the same run that ratios are of.
        let ratioTo: String?
        /// Whether a subject that could not run passes.
        let maySkip: Bool
        let limits: [(limit: Limit, bound: Double)]
    }

    /// What a rule can bound: a row of the table of limits.
    struct Limit: Sendable {
        let key: String
        let name: String
        let value: @Sendable (ResultRow) -> Double?
        var isRatio: Bool { key.contains("_ratio_") }
        /// Whether the bound must be reached, and not kept.
        var isLeast: Bool { key.hasSuffix("_min") }

        func isMet(by value: Double, _ bound: Double) -> Bool { isLeast ? value >= bound : value <= bound }

        /// Returns the row's value, or its ratio to that of the base.
        func value(_ row: ResultRow, _ base: ResultRow?) -> Double? {
            guard isRatio else { return value(row) }
            guard let own = value(row), let other = base.flatMap(value), other > 0 else { return nil }
            return own / other
        }

        static let all = [
            Limit(key: "early_max", name: "early") { Double($0.early) },
            // The share of missed deadlines in all deadlines.
            Limit(key: "missed_share_max", name: "missed_share") {
                Double($0.missed) / Double(max(1, $0.missed + $0.fires))
            },
            Limit(key: "wakeups_per_fire_max", name: "wakeups_per_fire", value: \.wakeupsPerFire),
            Limit(key: "context_switches_per_fire_max", name: "context_switches_per_fire", value: \.switchesPerFire),
            Limit(key: "within_1us_share_min", name: "within_1us_share", value: \.exactShare),
            Limit(key: "p50_ratio_max", name: "p50") { $0.lateness.p50.map(Double.init) },
            Limit(key: "p90_ratio_max", name: "p90") { $0.lateness.p90.map(Double.init) },
            Limit(key: "p99_ratio_max", name: "p99") { $0.lateness.p99.map(Double.init) },
            Limit(key: "cpu_ratio_max", name: "CPU", value: \.cpuPerFire_ns),
            Limit(key: "within_1us_share_ratio_min", name: "within_1us_share", value: \.exactShare),
        ]
    }

    static func read(_ path: String) throws -> Thresholds {
        try parse(readFile(path), name: path)
    }

    static func parse(_ data: Data, name: String) throws -> Thresholds {
        let thresholds: Thresholds = try decodeJSON(data, name: name)
        if thresholds.rules.isEmpty { throw BenchError("\(name): rules is empty, and so nothing would be checked") }
        for (number, rule) in thresholds.rules.enumerated() {
            if rule.ratioTo == nil, rule.limits.contains(where: \.limit.isRatio) {
                throw BenchError("\(name): rules[\(number)] has a ratio, and no ratio_to that says of what")
            }
            if rule.limits.isEmpty { throw BenchError("\(name): rules[\(number)] sets no limit") }
        }
        return thresholds
    }
}

extension Thresholds.Rule: Decodable {
    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: JSONKey.self)
        let known = ["id", "interval_ns", "ratio_to", "may_skip"] + Thresholds.Limit.all.map(\.key)
        // A misspelled limit would never be exceeded.
        if let unknown = members.allKeys.map(\.stringValue).sorted().first(where: { !known.contains($0) }) {
            let takes = "it has '\(unknown)'; a rule takes \(known.joined(separator: ", "))"
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: takes))
        }
        func member<Value: Decodable>(_ key: String) throws -> Value? {
            try members.decodeIfPresent(Value.self, forKey: JSONKey(stringValue: key))
        }
        id = try members.decode(String.self, forKey: JSONKey(stringValue: "id"))
        interval_ns = try member("interval_ns")
        ratioTo = try member("ratio_to")
        maySkip = try member("may_skip") ?? false
        limits = try Thresholds.Limit.all.compactMap { limit in try member(limit.key).map { (limit, $0) } }
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
            return [CheckLine(name: row.name, isMet: rule.maySkip, text: "not measured: \(reason)")]
        }
        let base = file.rows.first { $0.id == rule.ratioTo && $0.interval_ns == row.interval_ns && $0.fires > 0 }
        if let other = rule.ratioTo, base == nil {
            return [CheckLine(name: row.name, isMet: false, text: "\(other), which ratio_to names, was not measured")]
        }
        return rule.limits.map { limit, bound in
            let name = limit.name + (limit.isRatio ? " / \(rule.ratioTo ?? "")" : "")
            guard let value = limit.value(row, base) else {
                return CheckLine(name: row.name, isMet: false, text: "\(name) is not known: too few fires")
            }
            let decimals = bound.rounded() == bound && value.rounded() == value ? 0 : 3
            let text = "\(name) \(value.formatted(decimals: decimals)), \(limit.isLeast ? "at least" : "at most") "
            return CheckLine(
                name: row.name,
                isMet: limit.isMet(by: value, bound),
                text: text + bound.formatted(decimals: decimals)
            )
        }
    }
}
