// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc

/// Runs `body` on a thread of its own and returns when that thread has ended, so that timer slack, affinity and run loops
/// of one block cannot affect the next.
func onFreshThread<Value>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
    try onFreshThreads(1) { _ in try body() }[0]
}

/// Runs `body` on `count` threads at the same time, each with its number, and returns when all have ended.
func onFreshThreads<Value>(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Value) throws -> [Value] {
    var started: [(thread: pthread_t, workItem: WorkItem<Value>)] = []
    // The running threads must be joined, also when another thread cannot be started.
    defer { for (thread, _) in started { pthread_join(thread, nil) } }
    for number in 0..<count {
        let workItem = WorkItem { try body(number) }
        started.append((try start(workItem), workItem))
    }
    let joined = started
    started = []
    for (thread, _) in joined { pthread_join(thread, nil) }
    return try joined.map { try $0.workItem.outcome.get() }
}

/// Runs `body` here while `other` runs on a thread of its own, and returns when both have ended.
func withThread<Value, Other>(
    _ other: @escaping @Sendable () throws -> Other,
    beside body: () throws -> Value
) throws -> (Value, Other) {
    let workItem = WorkItem(other)
    let thread = try start(workItem)
    let result = Result(catching: body)
    pthread_join(thread, nil)
    return (try result.get(), try workItem.outcome.get())
}

private func start(_ workItem: AnyWorkItem) throws -> pthread_t {
    var thread = pthread_t()
    // The thread owns this reference, and releases it through `takeRetainedValue`.
    let passed = Unmanaged.passRetained(workItem)
    let error = pthread_create(
        &thread,
        nil,
        { argument in
            hrt_thread_set_name("bench-block")
            Unmanaged<AnyWorkItem>.fromOpaque(argument!).takeRetainedValue().run()
            return nil
        },
        passed.toOpaque()
    )
    guard error == 0 else {
        passed.release()
        throw BenchError("no thread to measure on: \(String(cString: strerror(error)))")
    }
    return thread
}

/// The work of a thread, as its C entry function sees it, which cannot be generic.
private class AnyWorkItem {
    func run() {}
}

/// The work of one thread and its result. The thread writes the result before it ends; it is read after the thread was
/// joined.
private final class WorkItem<Value>: AnyWorkItem {
    private let body: () throws -> Value
    private var result: Result<Value, any Error>?

    init(_ body: @escaping () throws -> Value) {
        self.body = body
    }

    override func run() {
        result = Result(catching: body)
    }

    var outcome: Result<Value, any Error> {
        result ?? .failure(BenchError("a thread ended without an outcome"))
    }
}
