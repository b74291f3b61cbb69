/// One operation at one number of timers, and all rivals that are compared in it.
struct OperationComparison: Sendable {
    let operation: String
    /// A description of the operation, in one line.
    let explanation: String
    /// The number of timers that are pending while the operations run.
    let timers: Int
    /// The rival with which the others are compared.
    let baseID: String
    /// Whether it runs on one thread that may be pinned to one processor. Rivals with threads of their own may not be
    /// pinned: the threads inherit the affinity of their creator (sched_setaffinity(2)), and would all share that
    /// processor.
    let isPinned: Bool
    /// Whether it is measured only on request.
    let isExtra: Bool
    let rivals: [OperationRival]

    /// Returns the comparison with the base and the rivals whose id matches one of the globs; without globs with all
    /// rivals. Returns nil if none matches.
    func only(_ patterns: [String]) -> OperationComparison? {
        guard !patterns.isEmpty else { return self }
        let chosen = rivals.filter { $0.id.matches(anyOf: patterns) }
        guard !chosen.isEmpty else { return nil }
        return OperationComparison(
            operation: operation,
            explanation: explanation,
            timers: timers,
            baseID: baseID,
            isPinned: isPinned,
            isExtra: isExtra,
            rivals: rivals.filter { $0.id == baseID || $0.id.matches(anyOf: patterns) }
        )
    }
}

/// One of the compared implementations.
struct OperationRival: Sendable {
    /// Stable, because scripts use it.
    let id: String
    /// Measures one round; the seed is the same for all rivals of a round. Throws if the rival cannot run here.
    let measure: @Sendable (_ seed: UInt64) throws -> OperationSample

    init(_ id: String, measure: @escaping @Sendable (_ seed: UInt64) throws -> OperationSample) {
        self.id = id
        self.measure = measure
    }
}
