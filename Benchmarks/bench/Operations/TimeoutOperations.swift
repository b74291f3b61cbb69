import CBench
import HRTimer

/// Timeouts that are not used: their cost for an operation that ends in time.
enum TimeoutOperations {
    static var unused: OperationComparison {
        comparison("timeout-unused", "an operation that suspends once, and is done long before its timeout of 5 s") {
            await Task.yield()
        }
    }

    static var unsuspended: OperationComparison {
        comparison("timeout-unsuspended", "an operation that does not suspend, with a timeout of 5 s") {}
    }

    private static func comparison(
        _ name: String,
        _ explanation: String,
        _ operation: @escaping @Sendable () async -> Void
    ) -> OperationComparison {
        var rivals: [OperationRival] = []
        #if compiler(>=6.2)
        rivals.append(
            TaskOperations.rival("hrtimer.with-timeout") {
                try await TaskOperations.repeated { _ in try await withTimeout(.seconds(5), operation: operation) }
            }
        )
        #endif
        rivals += [
            TaskOperations.rival("swift.race") { try await TaskOperations.repeated { _ in try await race(operation) } },
            TaskOperations.rival("swift.task-sleep") {
                await TaskOperations.repeated { _ in
                    let watch = Task.detached { try? await Task.sleep(for: .seconds(5)) }
                    await operation()
                    watch.cancel()
                }
            },
            TaskOperations.rival("dispatch.async-after") {
                await TaskOperations.repeated { _ in
                    await operation()
                    TaskOperations.cancelAsyncAfter()
                }
            },
            TaskOperations.rival("none") { await TaskOperations.repeated { _ in await operation() } },
        ]
        return TaskOperations.comparison(name, explanation, base: rivals[0].id, rivals)
    }

    /// The usual implementation: the operation and a sleep in two child tasks, of which the first to end counts.
    private static func race(_ operation: @escaping @Sendable () async -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await operation() }
            group.addTask {
                try await Task.sleep(for: .seconds(5))
                throw CancellationError()
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
