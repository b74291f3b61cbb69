// SPDX-License-Identifier: Apache-2.0
/// What a command has measured, for people and for programs.
protocol Report {
    func text(_ paint: Paint) -> String
    var json: JSONValue { get }
}

/// A table between lines of text; in JSON its rows by a name, and what is beside them.
struct TableReport<Value>: Report {
    var above: [String] = []
    let table: Table<Value>
    var below: [String] = []
    let key: String
    var more: JSONValue = [:]

    func text(_ paint: Paint) -> String { (above + table.lines(paint) + below).joined(separator: "\n") + "\n" }

    var json: JSONValue { ["schema": .integer(1)] + more + [key: table.json] }
}

extension JSONValue {
    /// Returns a result of schema 1: what those of all commands begin and end with, and `own` members in between.
    static func result(
        _ command: [String],
        seed: UInt64?,
        isInterrupted: Bool,
        _ host: HostReport,
        results: [JSONValue] = [],
        operations: JSONValue = .array([]),
        _ own: JSONValue
    ) -> JSONValue {
        let head: JSONValue = [
            "schema": .integer(1),
            "build": .string(buildName),
            "command": .array(command.map { .string($0) }),
            "seed": seed.map { JSONValue(seed: $0) } ?? .null,
            "interrupted": .bool(isInterrupted),
            "host": host.json,
        ]
        return head + own + ["results": .array(results), "operations": operations]
    }

    /// Joins the members of two objects.
    static func + (left: JSONValue, right: JSONValue) -> JSONValue {
        guard case .object(let first) = left, case .object(let second) = right else { return left }
        return .object(first + second)
    }
}

/// A note for results that Ctrl-C has ended.
let interruptedNote = "interrupted: this is what there was until then"
