import Glibc

/// One operation at one number of timers, and all who are compared in it.
struct OperationComparison: Sendable {
    let operation: String
    /// What an operation is, in one line.
    let explanation: String
    /// Timers that are pending while the operations run.
    let timers: Int
    /// Who the others are held against.
    let baseID: String
    /// Whether it runs on one thread that may be kept on one processor. What has threads of its own may not: they
    /// inherit the affinity of their creator (sched_setaffinity(2)), and would all share that processor.
    let isPinned: Bool
    /// Whether it is left out unless it is asked for.
    let isExtra: Bool
    let rivals: [OperationRival]

    /// Whether the name of the operation matches a shell pattern, fnmatch(3).
    func isOperation(_ pattern: String) -> Bool {
        fnmatch(pattern, operation, 0) == 0
    }

    /// The same with the rivals whose id matches one of the globs, and the base; all if there are no globs. Nil if none
    /// matches.
    func only(_ patterns: [String]) -> OperationComparison? {
        guard !patterns.isEmpty else { return self }
        let chosen = rivals.filter { rival in patterns.contains(where: rival.matches) }
        guard !chosen.isEmpty else { return nil }
        return OperationComparison(
            operation: operation,
            explanation: explanation,
            timers: timers,
            baseID: baseID,
            isPinned: isPinned,
            isExtra: isExtra,
            rivals: rivals.filter { rival in rival.id == baseID || patterns.contains(where: rival.matches) }
        )
    }
}

/// One of the compared.
struct OperationRival: Sendable {
    /// Stable: scripts use it.
    let id: String
    /// One round; the seed is the same for all rivals of a round. Throws if it cannot run here.
    let measure: @Sendable (_ seed: UInt64) throws -> OperationSample

    init(_ id: String, measure: @escaping @Sendable (_ seed: UInt64) throws -> OperationSample) {
        self.id = id
        self.measure = measure
    }

    /// Whether the id matches a shell pattern, fnmatch(3).
    func matches(_ pattern: String) -> Bool {
        fnmatch(pattern, id, 0) == 0
    }
}
