// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A result read from a file: the input of compare, check, report and all exports. Written by `JSONReport`, described by
/// Benchmarks/result.schema.json. Unknown members are ignored.
struct ResultFile: Decodable, Sendable {
    /// The schema that is read.
    static let schema = 1

    let build: String
    let command: [String]
    let seed: String
    let isInterrupted: Bool
    let grants: [Grant]
    let host: HostFacts
    /// How long each handler computed. Zero in older results, whose handlers did not.
    let work_ns: Int64
    private(set) var floors: [Floor]
    private(set) var rows: [ResultRow]
    let operations: [OperationRow]

    /// The differences between two measurements of the same subject.
    struct Floor: Decodable, Sendable, Equatable {
        let id: String
        /// Nil in older results, which have only one floor, that of the reference.
        let kind: Subject.Kind?
        let interval_ns: Int64
        let p50_ns: Int64
        let p90_ns: Int64?
        let p99_ns: Int64?
        let exactShare: Double?
        let cpuPerFire_ns: Double?

        enum CodingKeys: String, CodingKey {
            case id, kind, interval_ns, p50_ns, p90_ns, p99_ns
            case exactShare = "within_1us_share"
            case cpuPerFire_ns = "cpu_ns_per_fire"
        }
    }

    /// A requested setting.
    struct Grant: Decodable, Sendable, Equatable {
        let name: String
        let isGranted: Bool

        enum CodingKeys: String, CodingKey {
            case name
            case isGranted = "is_granted"
        }
    }

    private enum CodingKeys: String, CodingKey {
        case build, command, seed, interrupted, grants, host, work_ns, results, operations
        case noiseFloors = "noise_floors"
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        build = try members.decode(String.self, forKey: .build)
        command = try members.decodeIfPresent([String].self, forKey: .command) ?? []
        // A string if a JSON number could not hold the seed.
        let number = try? members.decode(UInt64.self, forKey: .seed)
        seed = try number.map { "\($0)" } ?? members.decodeIfPresent(String.self, forKey: .seed) ?? "not known"
        isInterrupted = try members.decodeIfPresent(Bool.self, forKey: .interrupted) ?? false
        grants = try members.decodeIfPresent([Grant].self, forKey: .grants) ?? []
        host = try members.decodeIfPresent(HostFacts.self, forKey: .host) ?? HostFacts(texts: [:], findings: [])
        work_ns = try members.decodeIfPresent(Int64.self, forKey: .work_ns) ?? 0
        floors = try members.decodeIfPresent([Floor?].self, forKey: .noiseFloors)?.compactMap(\.self) ?? []
        rows = try members.decode([ResultRow].self, forKey: .results)
        operations = try members.decodeIfPresent([OperationRow].self, forKey: .operations) ?? []
    }

    func floor(of kind: Subject.Kind, at interval_ns: Int64) -> Floor? {
        floors.first { $0.interval_ns == interval_ns && ($0.kind ?? .sleeping) == kind }
    }

    func rows(at interval_ns: Int64) -> [ResultRow] { rows.filter { $0.interval_ns == interval_ns } }

    /// The command that gives such a result again.
    var commandText: String { (["bench"] + command.dropFirst()).joined(separator: " ") }

    /// Returns the result with some of its subjects.
    func filtered(_ isShown: (ResultRow) -> Bool) -> ResultFile {
        var file = self
        file.rows.removeAll { !isShown($0) }
        return file
    }

    /// More than any run has: `--blocks` takes 1000 at most.
    private static let mostRounds = 1_000_000

    /// Joins several runs of the same subjects into one, for a comparison, which uses the blocks.
    static func joined(_ files: [ResultFile]) throws -> ResultFile {
        guard var joined = files.first else { throw BenchError("there is no result to compare") }
        for (number, file) in files.enumerated().dropFirst() {
            guard file.build == joined.build else {
                throw BenchError("the results to be joined are of different builds")
            }
            try joined.mustHaveSameWork(as: file.work_ns)
            for index in joined.rows.indices {
                let row = joined.rows[index]
                let other = file.rows.first { $0.id == row.id && $0.interval_ns == row.interval_ns }
                if let other { joined.rows[index].append(other, from: number * Self.mostRounds) }
            }
            joined.floors += file.floors
        }
        joined.floors = files.count > 1 ? joined.floors.joinedByKind : joined.floors
        return joined
    }

    /// The intervals of a sweep, or the one of a run, in order.
    var intervals_ns: [Int64] {
        rows.reduce(into: []) { if !$0.contains($1.interval_ns) { $0.append($1.interval_ns) } }
    }
}

extension [ResultFile.Floor] {
    /// The joint noise floors of several runs: the differences go up as often as down, so that they shrink by the square
    /// root of the number of runs.
    fileprivate var joinedByKind: [ResultFile.Floor] {
        func joined(_ values: [Double]) -> Double? {
            values.isEmpty ? nil : values.reduce(0) { $0 + $1 * $1 }.squareRoot() / Double(values.count)
        }
        var done: [ResultFile.Floor] = []
        for floor in self where !done.contains(where: { $0.kind == floor.kind && $0.interval_ns == floor.interval_ns })
        {
            let alike = filter { $0.kind == floor.kind && $0.interval_ns == floor.interval_ns }
            done.append(
                ResultFile.Floor(
                    id: floor.id,
                    kind: floor.kind,
                    interval_ns: floor.interval_ns,
                    p50_ns: Int64(joined(alike.map { Double($0.p50_ns) }) ?? 0),
                    p90_ns: joined(alike.compactMap { $0.p90_ns.map(Double.init) }).map { Int64($0) },
                    p99_ns: joined(alike.compactMap { $0.p99_ns.map(Double.init) }).map { Int64($0) },
                    exactShare: joined(alike.compactMap(\.exactShare)),
                    cpuPerFire_ns: joined(alike.compactMap(\.cpuPerFire_ns))
                )
            )
        }
        return done
    }
}

// Reading.
extension ResultFile {
    /// Reads a file. An error is one line that begins with the file's name.
    static func read(_ path: String) throws -> ResultFile {
        try ResultFile.parse(readFile(path), name: path)
    }

    static func parse(_ data: Data, name: String) throws -> ResultFile {
        struct Head: Decodable {
            let schema: Int?
        }
        let head: Head = try decodeJSON(data, name: name)
        guard let schema = head.schema else {
            throw BenchError("\(name) is no result of bench: it has no schema number")
        }
        guard schema == Self.schema else {
            throw BenchError(
                "\(name) has schema \(schema), and this bench reads \(Self.schema): use the bench that wrote it, or a newer one"
            )
        }
        return try decodeJSON(data, name: name)
    }
}

/// Returns the bytes of a file that was named on the command line.
func readFile(_ path: String) throws -> Data {
    do { return try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
        let reason = access(path, F_OK) != 0 ? "there is no such file" : "it cannot be read"
        throw BenchError("\(path): \(reason)")
    }
}

/// Any member's name.
struct JSONKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
}

/// Decodes JSON. An error is one line that names the place in the file.
func decodeJSON<Value: Decodable>(_ data: Data, name: String) throws -> Value {
    do {
        return try JSONDecoder().decode(Value.self, from: data)
    } catch let error as DecodingError {
        throw BenchError("\(name): \(explanation(of: error))")
    }
}

private func explanation(of error: DecodingError) -> String {
    switch error {
    case .keyNotFound(let key, let context):
        return "\(place(context.codingPath + [key])) is missing"
    case .valueNotFound(_, let context):
        return "\(place(context.codingPath)) is null, and must not be"
    case .typeMismatch(let type, let context):
        let wanted =
            "\(type)".hasPrefix("Dictionary") ? "an object" : "\(type)".hasPrefix("Array") ? "an array" : "\(type)"
        return "\(place(context.codingPath)) is not \(wanted)"
    case .dataCorrupted(let context) where context.codingPath.isEmpty:
        return "it is not JSON"
    case .dataCorrupted(let context):
        return "\(place(context.codingPath)): \(context.debugDescription)"
    @unknown default:
        return "it cannot be read"
    }
}

/// Returns a place such as `results[3].lateness_ns.p50`.
private func place(_ path: [any CodingKey]) -> String {
    let text = path.reduce("") { text, key in
        key.intValue.map { "\(text)[\($0)]" } ?? (text.isEmpty ? key.stringValue : "\(text).\(key.stringValue)")
    }
    return text.isEmpty ? "it" : text
}
