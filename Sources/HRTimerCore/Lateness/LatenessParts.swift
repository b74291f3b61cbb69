// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A lateness, split among causes. Each part is taken from what is left of it, so that the parts add up to it exactly.
package struct LatenessParts: Sendable, Hashable {
    /// The parts, by the cause's number.
    package private(set) var parts_ns = [Int64](repeating: 0, count: LatenessCause.allCases.count)
    /// The part that has no cause yet.
    package private(set) var rest_ns: Int64

    package init(_ lateness_ns: Int64) {
        rest_ns = max(0, lateness_ns)
    }

    package subscript(cause: LatenessCause) -> Int64 { parts_ns[cause.number] }

    package var lateness_ns: Int64 { parts_ns.reduce(rest_ns) { $0.addingSaturating($1) } }

    /// Attributes up to `part_ns` of what is left to the cause; nothing if `part_ns` is negative.
    package mutating func take(_ part_ns: Int64, for cause: LatenessCause) {
        let taken_ns = min(max(0, part_ns), rest_ns)
        parts_ns[cause.number] += taken_ns
        rest_ns -= taken_ns
    }

    package mutating func finish() { take(rest_ns, for: .unexplained) }

    /// Adds time to the lateness, and attributes it to a cause of its own.
    package mutating func add(_ part_ns: Int64, for cause: LatenessCause) {
        rest_ns = rest_ns.addingSaturating(max(0, part_ns))
        take(part_ns, for: cause)
    }

    package var largest: LatenessCause {
        let largest = LatenessCause.allCases.max { self[$0] < self[$1] }
        return largest ?? .unexplained
    }
}
#endif
