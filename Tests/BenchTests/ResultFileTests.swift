// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import bench

@Suite("A result in a file")
struct ResultFileTests {
    @Test("has everything that the report wrote")
    func roundTrips() throws {
        let file = try Sample.file()
        #expect(file.seed == "5")
        #expect(file.rows.count == 8)
        #expect(file.rows[0].fires == 2000)
        #expect(file.rows[0].distribution.count == 2000)
        #expect(file.rows[0].blocks.count == 5)
        #expect(file.rows[0].blocks.map(\.isMarked) == [false, false, false, true, false])
        #expect(file.rows[6].early == 1)
        #expect(file.rows[7].skippedBecause?.hasPrefix("No such device") == true)
        #expect(file.host.texts["cores"] == "2")
        #expect(file.host.findings.map(\.verdict) == ["ok", "warn"])
        #expect(file.floor(of: .sleeping, at: 1_000_000)?.id == Subject.referenceID)
    }

    @Test("has a histogram that gives the percentiles written beside it, to three digits")
    func percentilesAgree() throws {
        for row in try Sample.file().rows where row.fires > 0 {
            for (share, written) in [(0.5, row.lateness.p50), (0.9, row.lateness.p90), (0.99, row.lateness.p99)] {
                let written = try #require(written)
                let read = try #require(row.distribution.value_ns(at: share))
                #expect(abs(read - written) <= max(1, written / 1000), "\(row.id) at \(share)")
            }
        }
    }

    @Test(
        "that cannot be read is refused with one line that says what is wrong",
        arguments: [
            ("{\"schema\": 1", "it is not JSON"), ("", "it is not JSON"), ("[]", "it is not an object"),
            ("{\"build\": \"release\"}", "no schema number"), ("{\"schema\": 2}", "schema 2, and this bench reads 1"),
            ("{\"schema\": 1}", "build is missing"),
            ("{\"schema\": 1, \"build\": \"release\", \"results\": [{\"id\": 7}]}", "results[0].id is not String"),
            ("{\"schema\": \"new\"}", "schema is not Int"),
        ]
    )
    func refusals(text: String, wanted: String) throws {
        let error = #expect(throws: BenchError.self) { try ResultFile.parse(Data(text.utf8), name: "a.json") }
        let description = try #require(error).description
        #expect(description.hasPrefix("a.json"))
        #expect(description.contains(wanted), "\(description)")
        #expect(!description.contains("\n"))
    }

    @Test("that does not exist is refused with its name")
    func missing() throws {
        let error = #expect(throws: BenchError.self) { try ResultFile.read("/no/such/file.json") }
        #expect(error?.description == "/no/such/file.json: there is no such file")
    }

    /// After an intended change, run HRTIMER_UPDATE_GOLDEN=1 swift test --filter isGolden
    @Test("is written exactly as the golden file")
    func isGolden() throws {
        let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "Golden/result.json"
        )
        let written = Sample.json.replacing("\"build\": \"release\"", with: "\"build\": \"debug\"")
        if environment("HRTIMER_UPDATE_GOLDEN") == "1" {
            try written.write(to: golden, atomically: true, encoding: .utf8)
        }
        let known = try String(contentsOf: golden, encoding: .utf8)
        let lines = zip(written.split(separator: "\n"), known.split(separator: "\n"))
        let different = lines.first { $0 != $1 }
        #expect(different == nil)
        #expect(written.count == known.count)
    }

    @Test("conforms to its schema")
    func keepsToSchema() throws {
        let value = try JSONSerialization.jsonObject(with: Data(Sample.json.utf8))
        #expect(try schemaViolations(in: value) == [])
        // A check that accepted anything would find nothing here either.
        var broken = try #require(value as? [String: Any])
        broken["schema"] = "one"
        broken["seed"] = nil
        #expect(
            try schemaViolations(in: broken).sorted() == ["result.schema: const", "result.seed is missing"]
        )
    }
}

/// Returns the violations of Benchmarks/result.schema.json in a result.
func schemaViolations(in value: Any) throws -> [String] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    let schema = try JSONSerialization.jsonObject(
        with: Data(contentsOf: root.appendingPathComponent("Benchmarks/result.schema.json"))
    )
    return violations(of: schema, in: value, at: "result")
}

/// Checks the part of JSON Schema that our schema uses: type, const, enum, required, properties, items, minimum.
private func violations(of schema: Any, in value: Any, at place: String) -> [String] {
    guard let schema = schema as? [String: Any] else { return ["\(place): the schema is no object"] }
    var found: [String] = []
    if let types = schema["type"].map({ $0 as? [String] ?? [$0 as? String ?? ""] }),
        !types.contains(where: { isOfType(value, $0) })
    {
        return ["\(place): type"]
    }
    if let constant = schema["const"], "\(constant)" != "\(value)" { found.append("\(place): const") }
    if let allowed = schema["enum"] as? [String], !allowed.contains("\(value)") { found.append("\(place): enum") }
    if let least = schema["minimum"] as? Double, let number = value as? Double, number < least {
        found.append("\(place): minimum")
    }
    if let members = value as? [String: Any] {
        for name in schema["required"] as? [String] ?? [] where members[name] == nil {
            found.append("\(place).\(name) is missing")
        }
        for (name, rule) in schema["properties"] as? [String: Any] ?? [:] {
            if let member = members[name] { found += violations(of: rule, in: member, at: "\(place).\(name)") }
        }
    }
    if let elements = value as? [Any], let rule = schema["items"] {
        for (index, element) in elements.enumerated() {
            found += violations(of: rule, in: element, at: "\(place)[\(index)]")
        }
    }
    return found
}

private func isOfType(_ value: Any, _ name: String) -> Bool {
    switch name {
    case "object": value is [String: Any]
    case "array": value is [Any]
    case "string": value is String
    case "null": value is NSNull
    case "boolean": value is Bool
    case "integer": (value as? Double).map { $0.rounded() == $0 } ?? false
    case "number": value is Double
    default: false
    }
}
