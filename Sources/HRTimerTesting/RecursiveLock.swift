// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerLibc

/// A lock that its owner may take again: a handler that runs because the clock moves may move the clock.
@safe final class RecursiveLock: @unchecked Sendable {
    // Sendable: a pthread mutex is made for use by many threads; its address is constant. Safe: it lives as
    // long as this object, and nobody else has the address.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        var attributes = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&attributes)
        unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE))
        unsafe pthread_mutex_init(mutex, &attributes)
        unsafe pthread_mutexattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    func withLock<Result>(_ body: () throws -> Result) rethrows -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body()
    }
}
#endif
