// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// Returns a parser of whole numbers.
func whole<Number: FixedWidthInteger & Sendable>(
    _ range: ClosedRange<Number>,
    unit: String = ""
) -> @Sendable (String) throws -> Number {
    { text in
        guard let number = Number(text), range.contains(number) else {
            throw ValidationError("it takes a whole number\(unit) from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

/// Returns a parser of decimal numbers; `takes` says what it takes.
func decimal(_ range: ClosedRange<Double>, _ takes: String) -> @Sendable (String) throws -> Double {
    { text in
        guard let number = Double(text), range.contains(number) else { throw ValidationError("it takes \(takes)") }
        return number
    }
}

/// Returns a parser of times with their units, in ns; `takes` says what it takes.
func time(_ range: ClosedRange<Int64>, _ takes: String) -> @Sendable (String) throws -> Int64 {
    { text in
        guard let time_ns = nanoseconds(text), range.contains(time_ns) else {
            throw ValidationError("it takes a time \(takes)")
        }
        return time_ns
    }
}

/// Parses a decimal number and its unit, such as 250us, 1.5ms, 10s, 5m or 2h. Returns nil for anything else, and for more
/// than 3e18 ns, almost a century.
func nanoseconds(_ text: some StringProtocol) -> Int64? {
    let units: [(suffix: String, nanoseconds: Double)] = [
        ("ns", 1), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9),
    ]
    guard
        let unit = units.first(where: { text.hasSuffix($0.suffix) }),
        let number = Double(String(text.dropLast(unit.suffix.count)))
    else { return nil }
    let value_ns = (number * unit.nanoseconds).rounded()
    return (0...3e18).contains(value_ns) ? Int64(value_ns) : nil
}

/// Throws if a glob matches none of the ids; `takes` says what the option takes instead.
func mustMatch(_ patterns: [String], _ ids: [String], _ takes: (_ pattern: String) -> String) throws {
    for pattern in patterns where !ids.contains(where: { $0.matches(pattern) }) {
        throw ValidationError(takes(pattern))
    }
}
