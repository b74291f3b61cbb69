#if os(Linux)
/// What late fires were made of so far, those that somebody watches for: see `onLate(beyond:)`.
public struct LatenessStatistics: Sendable, Hashable {
    /// How many fires were later than the least bound that anybody watches.
    public var lateFires: UInt64 = 0
    /// By the cause's number, in ns; empty as long as there is none.
    private var parts_ns: [Int64] = []

    package init() {}

    /// How late those were together.
    public var total: Duration { .nanoseconds(parts_ns.reduce(Int64(0)) { $0.addingSaturating($1) }) }

    /// How much of that was made by which cause; causes without a part are not in it.
    public var byCause: [LatenessCause: Duration] {
        var causes: [LatenessCause: Duration] = [:]
        for (cause, part_ns) in zip(LatenessCause.allCases, parts_ns) where part_ns > 0 {
            causes[cause] = .nanoseconds(part_ns)
        }
        return causes
    }

    package mutating func add(_ parts: LatenessParts) {
        lateFires += 1
        if parts_ns.isEmpty { parts_ns = [Int64](repeating: 0, count: LatenessCause.allCases.count) }
        for index in parts_ns.indices { parts_ns[index] = parts_ns[index].addingSaturating(parts.parts_ns[index]) }
    }
}
#endif
