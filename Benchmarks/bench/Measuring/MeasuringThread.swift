import CHRTimer
import Glibc

/// Runs `body` on a thread of its own and returns when that thread has ended, so that timer slack, affinity and run
/// loops of one block cannot reach the next.
func onFreshThread(_ body: @escaping @Sendable () throws -> Void) throws {
    let errand = Errand(body)
    var thread = pthread_t()
    // The thread takes this reference over, and gives it back in `takeRetainedValue`.
    let passed = Unmanaged.passRetained(errand)
    let error = pthread_create(
        &thread,
        nil,
        { argument in
            hrt_thread_set_name("bench-block")
            Unmanaged<Errand>.fromOpaque(argument!).takeRetainedValue().run()
            return nil
        },
        passed.toOpaque()
    )
    guard error == 0 else {
        passed.release()
        throw BenchError("no thread to measure on: \(String(cString: strerror(error)))")
    }
    pthread_join(thread, nil)
    try errand.outcome.get()
}

/// Unchecked, because `outcome` is written by the thread before it ends, and read after it was joined.
private final class Errand: @unchecked Sendable {
    private let body: @Sendable () throws -> Void
    private(set) var outcome: Result<Void, any Error> = .success(())

    init(_ body: @escaping @Sendable () throws -> Void) {
        self.body = body
    }

    func run() {
        outcome = Result(catching: body)
    }
}
