// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// The causes of the late fires so far that somebody watches for: see `onLate(beyond:)`.
public struct LatenessStatistics: Sendable, Hashable {
    /// The number of fires later than the least bound that anybody watches for.
    public var lateFires: UInt64 = 0
    /// The time of each cause, by the cause's number, in ns; empty as long as there is none.
    private var parts_ns: [Int64] = []

    package init() {}

    /// The lateness of these fires together.
    public var total: Duration { .nanoseconds(parts_ns.reduce(Int64(0)) { $0.addingSaturating($1) }) }

    /// How much of the total each cause accounts for.
    ///
    /// Causes without a part are left out.
    public var byCause: [LatenessCause: Duration] { LatenessCause.durations(ofParts_ns: parts_ns) }

    package mutating func add(_ parts: LatenessParts) {
        lateFires += 1
        if parts_ns.isEmpty { parts_ns = [Int64](repeating: 0, count: LatenessCause.allCases.count) }
        for index in parts_ns.indices { parts_ns[index] = parts_ns[index].addingSaturating(parts.parts_ns[index]) }
    }
}
#endif
