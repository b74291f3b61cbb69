public import Glibc

/// A value behind a lock: `pthread_mutex_t`, which Thread Sanitizer sees through; `Synchronization.Mutex` of Swift 6.3 it
/// does not.
///
/// Usable from inline code, and Glibc imported publicly, because `@inlinable` in a package type does nothing otherwise: the
/// other modules would call it unspecialised, which cost a loop's timer 500 ns a fire.
///
/// The body must not call out: no handler, and nothing that frees what a user's handler captured.
@usableFromInline package struct Locked<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Sendable: the value is touched with the mutex held alone. Both lie on the heap, since a mutex must not move.
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline let value: UnsafeMutablePointer<Value>

    package init(_ initial: consuming Value) {
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        value = .allocate(capacity: 1)
        value.initialize(to: initial)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
        value.deinitialize(count: 1)
        value.deallocate()
    }

    @inlinable
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }

    /// `withLock` in two calls, for a path where a closure would keep a copy of what it captures. The pointer is good until
    /// `unlock()`, which must follow on the same thread.
    @inlinable
    package func lock() -> UnsafeMutablePointer<Value> {
        pthread_mutex_lock(mutex)
        return value
    }

    @inlinable
    package func unlock() {
        pthread_mutex_unlock(mutex)
    }
}
