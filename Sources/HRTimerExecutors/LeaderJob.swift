#if os(Linux)
#if compiler(>=6.3)
@_spi(ExperimentalCustomExecutors) import _Concurrency
import HRTimerLibc

/// A way to end a sleep and then run the job that this makes ready, the sleeping task's, on the same thread. Otherwise the
/// job would go through the pool.
enum LeaderJob {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let error = pthread_key_create(&key, nil)
        precondition(error == 0, "no thread-specific key is left for sleeps: pthread_key_create(3)")
        return key
    }()

    static func run(_ end: () -> Void) {
        var next: UnownedJob?
        withUnsafeMutablePointer(to: &next) { next in
            // Cleared before the pointer becomes invalid; only this thread sees it.
            pthread_setspecific(key, next)
            end()
            pthread_setspecific(key, nil)
        }
        next?.runAsInPool()
    }

    /// Returns true if the calling thread will run the job next, after `run` has ended the sleep.
    static func take(_ job: UnownedJob) -> Bool {
        // Set by `run`, further up on this stack.
        guard let next = pthread_getspecific(key)?.assumingMemoryBound(to: UnownedJob?.self) else { return false }
        if next.pointee != nil { return false }
        next.pointee = job
        return true
    }
}

extension UnownedJob {
    /// Runs the job as libdispatch's pool does: on the generic executor, whose reference is two words of zero
    /// (swift/ExecutorImpl.h, swift_executor_generic). On another executor each nonisolated call would be enqueued
    /// again.
    func runAsInPool() {
        runSynchronously(on: unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self))
    }
}
#endif
#endif
