#if compiler(>=6.3)
@_spi(ExperimentalCustomExecutors) import _Concurrency
import Glibc

/// Ends a sleep, and then runs the job that this makes ready on the same thread: the sleeping task itself, which would go
/// through the pool otherwise.
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
            // Cleared before the pointer goes out of scope; only this thread sees it.
            pthread_setspecific(key, next)
            end()
            pthread_setspecific(key, nil)
        }
        next?.runAsInPool()
    }

    /// True if the calling thread is to run the job next, by itself.
    static func take(_ job: UnownedJob) -> Bool {
        // Set by `run`, further up on this stack.
        guard let next = pthread_getspecific(key)?.assumingMemoryBound(to: UnownedJob?.self) else { return false }
        if next.pointee != nil { return false }
        next.pointee = job
        return true
    }
}

extension UnownedJob {
    /// As libdispatch's pool runs it: on the executor of everything that has none of its own, whose reference is two words
    /// of zero (swift/ExecutorImpl.h, swift_executor_generic). On another one each nonisolated call would be enqueued again.
    func runAsInPool() {
        runSynchronously(on: unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self))
    }
}
#endif
