// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The results of a program, as written to its file: one row for each way of doing the same thing.
public struct Figures: Codable, Sendable {
    /// The results of one way.
    public struct Row: Codable, Sendable {
        /// The name of the way in table and picture.
        public var name: String
        /// Whether it is this library's way, which the picture shows in another colour.
        public var isOurs: Bool
        /// The samples that the picture shows, in ns, in no order.
        public var samples_ns: [Int64]
        /// Further results, with the unit in the name.
        public var facts: [String: Double]

        /// Creates the row of one way.
        public init(_ name: String, isOurs: Bool, samples_ns: [Int64], facts: [String: Double] = [:]) {
            self.name = name
            self.isOurs = isOurs
            self.samples_ns = samples_ns
            self.facts = facts
        }

        /// Returns the smallest sample that is not below this share of all samples; nil if fewer than ten lie beyond it.
        public func quantile_ns(_ share: Double) -> Int64? {
            guard !samples_ns.isEmpty, share <= 0.5 || Double(samples_ns.count) * (1 - share) >= 10 else { return nil }
            let sorted = samples_ns.sorted()
            return sorted[min(sorted.count - 1, Int((Double(sorted.count) * share).rounded(.up)) - 1)]
        }
    }

    /// The program that measured.
    public var program: String
    /// The command line with its options.
    public var command: String
    /// What a sample measures.
    public var quantity: String
    /// The system: its processors and kernel.
    public var host: String
    /// When it was measured.
    public var date: String
    /// One row for each way, in the order of the table.
    public var rows: [Row]

    /// Creates the results of this process, with its command line, its system and the present time.
    public init(_ program: String, quantity: String, rows: [Row]) {
        self.program = program
        self.quantity = quantity
        self.rows = rows
        command = CommandLine.arguments.map { $0.split(separator: "/").last.map(String.init) ?? $0 }.joined(
            separator: " "
        )
        host = Self.host
        date = Date.now.ISO8601Format()
    }

    /// Reads results from a file.
    public init(contentsOf path: String) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Writes the results to a file, as JSON.
    public func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // One line for each key, and one for each row's samples.
        let text =
            String(decoding: try encoder.encode(self), as: UTF8.self)
            .replacingOccurrences(of: ",\"", with: ",\n\"") + "\n"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    private static var host: String {
        let info = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = info.split(separator: "\n").first { $0.hasPrefix("model name") }?.split(separator: ":").last ?? "?"
        let count = ProcessInfo.processInfo.processorCount
        let kernel = (try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)) ?? "?"
        return
            "\(model.trimmingCharacters(in: .whitespaces)), \(count) processors, Linux \(kernel.trimmingCharacters(in: .newlines))"
    }

    /// The results as a Markdown table, for the README.
    public var table: String {
        let names = Set(rows.flatMap(\.facts.keys)).sorted()
        var lines = [
            "| | samples | p50 | p90 | p99 | max | " + names.joined(separator: " | ") + (names.isEmpty ? "" : " |")
        ]
        lines.append("|" + String(repeating: " --- |", count: 6 + names.count))
        for row in rows {
            let quantiles = [0.5, 0.9, 0.99].map { row.quantile_ns($0).map(Self.spelled) ?? "–" }
            let facts = names.map { name in row.facts[name].map { String(format: "%.4g", $0) } ?? "–" }
            let cells =
                ["\(row.samples_ns.count)"] + quantiles + [row.samples_ns.max().map(Self.spelled) ?? "–"] + facts
            lines.append("| \(row.isOurs ? "**\(row.name)**" : row.name) | " + cells.joined(separator: " | ") + " |")
        }
        return lines.joined(separator: "\n")
    }

    static func spelled(_ ns: Int64) -> String {
        let value = Double(ns)
        switch abs(value) {
        case ..<1e3: return "\(ns) ns"
        case ..<1e6: return String(format: "%.3g µs", value / 1e3)
        case ..<1e9: return String(format: "%.3g ms", value / 1e6)
        default: return String(format: "%.3g s", value / 1e9)
        }
    }
}
