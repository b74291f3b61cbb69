// SPDX-License-Identifier: Apache-2.0
/// One subject at one interval, read from a result.
struct ResultRow: Decodable, Sendable {
    let id: String
    let interval_ns: Int64
    private(set) var fires: Int
    private(set) var early: Int
    private(set) var missed: Int
    let skippedBecause: String?
    let lateness: Lateness
    let drift_ppm: Double?
    let cpuPerFire_ns: Double?
    let machineCPUPerFire_ns: Double?
    let switchesPerFire: Double?
    let wakeupsPerFire: Double?
    /// The lateness with the deadlines that had no fire of their own; nil in older results.
    let intended: Lateness?
    let confidence: Confidence?
    private(set) var blocks: [Block]
    let distribution: Distribution

    /// The share of fires that are neither early nor later than 1 µs, 0 to 1.
    var exactShare: Double { distribution.share(upTo: Pareto.exact_ns) - distribution.share(upTo: -1) }

    var kind: Subject.Kind { Subject.kind(of: id) }

    /// The ends of the intervals that contain a figure 19 times of 20.
    struct Confidence: Decodable, Sendable {
        let p50_ns: [Int64]?
        let p90_ns: [Int64]?
        let p99_ns: [Int64]?
        let cpuPerFire_ns: [Double]?

        enum CodingKeys: String, CodingKey {
            case p50_ns, p90_ns, p99_ns
            case cpuPerFire_ns = "cpu_ns_per_fire"
        }
    }

    struct Lateness: Decodable, Sendable {
        let min: Int64?
        let p50: Int64?
        let p90: Int64?
        let p95: Int64?
        let p99: Int64?
        let p999: Int64?
        let max: Int64?
        let mean: Double?
        let sd: Double?
    }

    struct Block: Decodable, Sendable {
        fileprivate(set) var round: Int
        let fires: Int
        let p50_ns: Int64?
        let p90_ns: Int64?
        let p99_ns: Int64?
        let exact: Int?
        /// The fires that are neither early nor later than 5 µs; nil in older results.
        let nearlyExact: Int?
        let max_ns: Int64?
        let cpuPerFire_ns: Double?
        let isMarked: Bool

        /// Nil in older results.
        var exactShare: Double? { exact.map { Double($0) / Double(max(1, fires)) } }

        enum CodingKeys: String, CodingKey {
            case round, p50_ns, p90_ns, p99_ns, max_ns
            case exact = "within_1us"
            case nearlyExact = "within_5us"
            case fires = "n"
            case cpuPerFire_ns = "cpu_ns_per_fire"
            case isMarked = "marked"
        }
    }

    enum CodingKeys: String, CodingKey {
        case id, interval_ns, early, missed, drift_ppm, blocks
        case intended = "intended_ns"
        case confidence = "confidence_95"
        case machineCPUPerFire_ns = "machine_cpu_ns_per_fire"
        case fires = "n"
        case skippedBecause = "skipped_because"
        case lateness = "lateness_ns"
        case cpuPerFire_ns = "cpu_ns_per_fire"
        case switchesPerFire = "context_switches_per_fire"
        case wakeupsPerFire = "wakeups_per_fire"
        case distribution = "histogram"
    }

    /// Adds the blocks of another run, whose rounds begin at `round`. The other figures, except counts, stay those of the
    /// first run.
    mutating func append(_ other: ResultRow, from round: Int) {
        fires += other.fires
        early += other.early
        missed += other.missed
        blocks += other.blocks.map { block in
            var block = block
            block.round += round
            return block
        }
    }

    /// The name, which distinguishes the rows of a sweep.
    var name: String { "\(id)@\(timeText(interval_ns).replacing(" ", with: ""))" }

    /// The share of one processor that the subject uses; for a subject with one thread between 0 and 1.
    var processorShare: Double? { cpuPerFire_ns.map { $0 / Double(interval_ns) } }

    /// Whether it never releases the processor; on a busy machine it nevertheless gets less than all of it.
    var spins: Bool { id.hasPrefix("kernel.spin") || (processorShare ?? 0) > 0.9 }
}

/// One operation on timers, read from a result of `bench ops`.
struct OperationRow: Decodable, Sendable {
    let id: String
    let operation: String
    let timers: Int
    let nsPerOp: Double?
    let cpuPerOp_ns: Double?
    let bytesPerTimer: Double?
    let skippedBecause: String?
    let ratioToBase: Double?
    let allocationsPerOp: Double?
    let early: Int?

    enum CodingKeys: String, CodingKey {
        case id, operation, timers, early
        case nsPerOp = "ns_per_op"
        case cpuPerOp_ns = "cpu_ns_per_op"
        case bytesPerTimer = "bytes_per_timer"
        case skippedBecause = "skipped_because"
        case ratioToBase = "ratio_to_base"
        case allocationsPerOp = "allocations_per_op"
    }
}

/// The host's part of a result, as text, and the doctor's findings.
struct HostFacts: Decodable, Sendable {
    let texts: [String: String]
    let findings: [StoredFinding]

    struct StoredFinding: Decodable, Sendable {
        let id: String
        let value: String
        let verdict: String
        let why: String
        let fix: String?
    }

    init(texts: [String: String], findings: [StoredFinding]) {
        self.texts = texts
        self.findings = findings
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: JSONKey.self)
        var texts: [String: String] = [:]
        for key in members.allKeys {
            if let text = try? members.decode(String.self, forKey: key) {
                texts[key.stringValue] = text
            } else if let number = try? members.decode(Double.self, forKey: key) {
                texts[key.stringValue] = number.formatted(decimals: number.rounded() == number ? 0 : 1)
            }
        }
        self.texts = texts
        findings = try members.decodeIfPresent([StoredFinding].self, forKey: JSONKey(stringValue: "doctor")) ?? []
    }

    /// Some facts in one line.
    func inShort(_ keys: [String]) -> String {
        let known = keys.compactMap { key in
            texts[key].map { text in
                switch key {
                case "cores": "\(text) cores"
                // Such as "Linux 6.18.44".
                case "kernel": text.split(separator: " ").prefix(2).joined(separator: " ")
                default: text
                }
            }
        }
        return known.joined(separator: ", ")
    }

    /// The facts for the reader of a report, with their names.
    var lines: [(title: String, text: String)] {
        let titles = [
            ("kernel", "kernel"), ("cpu", "processor"), ("cores", "cores"), ("virtualisation", "virtualisation"),
            ("clocksource", "clock source"), ("clock_read_ns", "one reading, ns"), ("governor", "governor"),
            ("timer_slack_ns", "timer slack, ns"), ("scheduling", "scheduling"), ("load", "load average"),
            ("swift", "Swift"), ("build", "build"), ("commit", "commit"), ("doctor_summary", "doctor"),
        ]
        return titles.compactMap { key, title in texts[key].map { (title, $0) } }
    }
}
