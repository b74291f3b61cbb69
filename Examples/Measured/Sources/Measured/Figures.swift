import Foundation

/// What a program measured, as it stands in its file: one row for each way of doing the same thing.
public struct Figures: Codable, Sendable {
    /// One way.
    public struct Row: Codable, Sendable {
        /// As table and picture call it.
        public var name: String
        /// This library's way, which the picture shows in another colour.
        public var isOurs: Bool
        /// What the picture is of, in ns, in no order.
        public var samples_ns: [Int64]
        /// What else there is to say, with the unit in the name.
        public var facts: [String: Double]

        /// A way, and what was measured of it.
        public init(_ name: String, isOurs: Bool, samples_ns: [Int64], facts: [String: Double] = [:]) {
            self.name = name
            self.isOurs = isOurs
            self.samples_ns = samples_ns
            self.facts = facts
        }

        /// The smallest sample that is not below this share of all; nil where fewer than ten are beyond it.
        public func quantile_ns(_ share: Double) -> Int64? {
            guard !samples_ns.isEmpty, share <= 0.5 || Double(samples_ns.count) * (1 - share) >= 10 else { return nil }
            let sorted = samples_ns.sorted()
            return sorted[min(sorted.count - 1, Int((Double(sorted.count) * share).rounded(.up)) - 1)]
        }
    }

    /// Which program measured it.
    public var program: String
    /// With which options.
    public var command: String
    /// What a sample is.
    public var quantity: String
    /// The system that it was measured on: its processors and kernel.
    public var host: String
    /// When.
    public var date: String
    /// The ways, in the order of the table.
    public var rows: [Row]

    /// What this process measured, now and here.
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

    /// A file's.
    public init(contentsOf path: String) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Writes the file, as JSON.
    public func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // A line for each key, and one for each row's samples.
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

    /// A table of Markdown, as the README has it.
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
