import Foundation

/// A result as it stands in a file: what compare, check, report and all exports begin with. Written by `JSONReport`,
/// described by Benchmarks/result.schema.json. Members that are not named here are let through.
struct ResultFile: Decodable, Sendable {
    /// The newest schema that is read.
    static let schema = 1

    let build: String
    let command: [String]
    let seed: String
    let isInterrupted: Bool
    let host: HostFacts
    let floors: [Floor]
    private(set) var rows: [ResultRow]
    let operations: [OperationRow]

    /// What measuring the same thing twice differed by.
    struct Floor: Decodable, Sendable, Equatable {
        let id: String
        let interval_ns: Int64
        let p50_ns: Int64
        let p99_ns: Int64?
        let cpuPerFire_ns: Double?

        enum CodingKeys: String, CodingKey {
            case id, interval_ns, p50_ns, p99_ns
            case cpuPerFire_ns = "cpu_ns_per_fire"
        }
    }

    private enum CodingKeys: String, CodingKey {
        case build, command, seed, interrupted, host, results, operations
        case noiseFloors = "noise_floors"
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        build = try members.decode(String.self, forKey: .build)
        command = try members.decodeIfPresent([String].self, forKey: .command) ?? []
        // As text where a number of JSON could not hold it.
        let number = try? members.decode(UInt64.self, forKey: .seed)
        seed = try number.map { "\($0)" } ?? members.decodeIfPresent(String.self, forKey: .seed) ?? "not known"
        isInterrupted = try members.decodeIfPresent(Bool.self, forKey: .interrupted) ?? false
        host = try members.decodeIfPresent(HostFacts.self, forKey: .host) ?? HostFacts(texts: [:], findings: [])
        floors = try members.decodeIfPresent([Floor?].self, forKey: .noiseFloors)?.compactMap(\.self) ?? []
        rows = try members.decode([ResultRow].self, forKey: .results)
        operations = try members.decodeIfPresent([OperationRow].self, forKey: .operations) ?? []
    }

    func floor(at interval_ns: Int64) -> Floor? {
        floors.first { $0.interval_ns == interval_ns }
    }

    /// The same with some of its subjects.
    func filtered(_ isShown: (ResultRow) -> Bool) -> ResultFile {
        var file = self
        file.rows.removeAll { !isShown($0) }
        return file
    }

    /// The intervals of a sweep, or the one of a run, in order.
    var intervals_ns: [Int64] {
        rows.reduce(into: []) { if !$0.contains($1.interval_ns) { $0.append($1.interval_ns) } }
    }
}

// Reading.
extension ResultFile {
    /// Reads a file; what is wrong with it is said in one line that begins with its name.
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

/// The bytes of a file that was named on the command line.
func readFile(_ path: String) throws -> Data {
    do { return try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
        let reason = access(path, F_OK) != 0 ? "there is no such file" : "it cannot be read"
        throw BenchError("\(path): \(reason)")
    }
}

/// One line for what is wrong, with the place where it is.
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

/// As in `results[3].lateness_ns.p50`.
private func place(_ path: [any CodingKey]) -> String {
    let text = path.reduce("") { text, key in
        key.intValue.map { "\(text)[\($0)]" } ?? (text.isEmpty ? key.stringValue : "\(text).\(key.stringValue)")
    }
    return text.isEmpty ? "it" : text
}
