// SPDX-License-Identifier: Apache-2.0
import CBench

// Blocks of what sleeps until each deadline. The stamp is the first action after the sleep.
extension BlockRecorder {
    /// Sleeps on the calling thread.
    @inline(__always)
    func fill(bySleeping sleep: (_ until_ns: Int64) throws -> Void) rethrows {
        _ = begin()
        var woke_ns: Int64
        repeat {
            try sleep(nextDeadline_ns)
            woke_ns = cbench_now_ns()
        } while fire(woke_ns)
    }

    /// Sleeps in the calling task.
    @inline(__always)
    func fill(inTaskBySleeping sleep: @Sendable (_ until_ns: Int64) async throws -> Void) async rethrows {
        _ = begin()
        var woke_ns: Int64
        repeat {
            try await sleep(nextDeadline_ns)
            woke_ns = cbench_now_ns()
        } while fire(woke_ns)
    }

    /// Sleeps in a task of its own, on an executor or on the pool.
    func fill(
        byTaskOn executor: (any TaskExecutor)? = nil,
        sleeping sleep: @escaping @Sendable (_ until_ns: Int64) async throws -> Void
    ) throws {
        let sleeper = Task.detached(executorPreference: executor) { try await self.fill(inTaskBySleeping: sleep) }
        defer { sleeper.cancel() }
        try waitUntilFull()
    }
}
