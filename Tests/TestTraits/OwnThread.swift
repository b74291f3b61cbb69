// SPDX-License-Identifier: Apache-2.0
import Dispatch
package import Testing

/// Runs each test on a thread of its own. A test that waits in real time would otherwise keep a thread of the pool from the
/// other tests, and the pool has only as many threads as there are processors.
package struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    package let isRecursive = true

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        try await withTaskExecutorPreference(QueueExecutor()) { try await function() }
    }

    private final class QueueExecutor: TaskExecutor {
        private let queue = DispatchQueue(label: "own-thread")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}

extension Trait where Self == OwnThread {
    package static var ownThread: Self { OwnThread() }
}
