// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimerCore

/// One operation at one number of timers, and all rivals that are compared in it: a row of what `bench ops` measures.
struct OperationComparison: Sendable {
    let operation: String
    /// A description of the operation, in one line.
    let explanation: String
    /// The number of timers that are pending while the operations run.
    var timers = 1
    /// The rival with which the others are compared.
    let baseID: String
    /// Whether it runs on one thread that may be pinned to one processor. Rivals with threads of their own may not be
    /// pinned: the threads inherit the affinity of their creator (sched_setaffinity(2)), and would all share that
    /// processor.
    var isPinned = false
    /// Whether it is measured only on request.
    var isExtra = false
    var rivals: [OperationRival]

    /// Returns the comparison with the base and the rivals whose id matches one of the globs; without globs with all
    /// rivals. Returns nil if none matches.
    func only(_ patterns: [String]) -> OperationComparison? {
        guard !patterns.isEmpty else { return self }
        guard rivals.contains(where: { $0.id.matches(anyOf: patterns) }) else { return nil }
        var chosen = self
        chosen.rivals.removeAll { $0.id != baseID && !$0.id.matches(anyOf: patterns) }
        return chosen
    }
}

/// One of the compared implementations.
struct OperationRival: Sendable {
    /// Stable, because scripts use it.
    let id: String
    /// Measures one round; the seed is the same for all rivals of a round. Throws if the rival cannot run here.
    let measure: @Sendable (_ seed: UInt64) throws -> OperationSample

    /// Returns a rival whose round runs in a detached task on the pool, like ordinary tasks.
    static func inTask(
        _ id: String,
        _ body: @escaping @Sendable () async throws -> OperationSample
    ) -> OperationRival {
        OperationRival(id: id) { _ in
            let done = DispatchSemaphore(value: 0)
            let outcome = Locked<Result<OperationSample, any Error>?>(nil)
            Task.detached {
                let result: Result<OperationSample, any Error>
                do { result = .success(try await body()) } catch { result = .failure(error) }
                outcome.withLock { $0 = result }
                done.signal()
            }
            done.wait()
            return try outcome.withLock { $0 }!.get()
        }
    }
}
