// SPDX-License-Identifier: Apache-2.0
/// JSON that keeps the order of its members, for files that people compare.
indirect enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    struct Member: Equatable, Sendable {
        let key: String
        let value: JSONValue
    }

    /// Returns an object with these members, in their order.
    static func members(_ members: [(String, JSONValue)]) -> JSONValue {
        .object(members.map { Member(key: $0.0, value: $0.1) })
    }

    init(_ value: Int64?) { self = value.map { .integer($0) } ?? .null }
    init(_ value: Int?) { self = value.map { .integer(Int64($0)) } ?? .null }
    init(_ value: String?) { self = value.map { .string($0) } ?? .null }

    /// A string if the seed does not fit: JSON readers keep 53 bits of a number.
    init(seed: UInt64) { self = seed < 1 << 53 ? .integer(Int64(seed)) : .string("\(seed)") }

    /// Rounded to three decimals: a measurement has no more.
    init(_ value: Double?) {
        guard let value, value.isFinite else {
            self = .null
            return
        }
        self = .number((value * 1000).rounded() / 1000)
    }

    /// Returns the text with one member on a line; arrays and objects that contain neither stay on one line.
    func text(indentedBy indent: Int = 0) -> String {
        let inner = String(repeating: " ", count: indent + 2)
        let outer = String(repeating: " ", count: indent)
        switch self {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .integer(let value): return "\(value)"
        case .number(let value): return "\(value)"
        case .string(let value): return Self.quoted(value)
        case .array(let elements):
            if elements.allSatisfy(\.fitsLine) { return "[" + elements.map { $0.text() }.joined(separator: ", ") + "]" }
            let lines = elements.map { inner + $0.text(indentedBy: indent + 2) }
            return "[\n" + lines.joined(separator: ",\n") + "\n\(outer)]"
        case .object(let members):
            let parts = members.map { "\(Self.quoted($0.key)): \($0.value.text(indentedBy: indent + 2))" }
            if fitsLine { return "{" + parts.joined(separator: ", ") + "}" }
            return "{\n" + parts.map { inner + $0 }.joined(separator: ",\n") + "\n\(outer)}"
        }
    }

    /// A string without quotes, and anything else as in JSON.
    var plainText: String {
        guard case .string(let text) = self else { return text() }
        return text
    }

    /// Whether the value is a scalar, at most a pair of scalars, or an object of scalars.
    private var fitsLine: Bool {
        switch self {
        case .array(let elements): elements.count <= 2 && elements.allSatisfy(\.isScalar)
        case .object(let members): members.allSatisfy { $0.value.isScalar }
        default: true
        }
    }

    private var isScalar: Bool {
        switch self {
        case .array, .object: false
        default: true
        }
    }

    /// Returns the string in quotes. RFC 8259, section 7: quotes, backslashes and control characters are escaped.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .members(members)
    }
}
