// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerLibc

/// A value behind a lock, and threads that wait for it to change.
@safe final class Monitor<State>: @unchecked Sendable {
    // Sendable: the state is accessed only with the mutex held; the mutex and the condition are made for use by many threads.
    // Safe: both live as long as this object, and nobody else has their addresses.
    private var state: State
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init(_ state: State) {
        self.state = state
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&state)
    }

    /// Calls `body` with the lock held, and has the waiting threads look again.
    func change<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        defer { unsafe pthread_cond_broadcast(condition) }
        return try withLock(body)
    }

    /// Waits until `isDone`, or until the kernel's monotonic clock reads `limit_ns`. Returns false if it is not done by then.
    @discardableResult
    func wait(until limit_ns: Int64 = .max, _ isDone: (inout State) -> Bool) -> Bool {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while !isDone(&state) {
            if limit_ns == .max {
                unsafe pthread_cond_wait(condition, mutex)
                continue
            }
            var limit = timespec(tv_sec: Int(limit_ns / 1_000_000_000), tv_nsec: Int(limit_ns % 1_000_000_000))
            if unsafe pthread_cond_timedwait(condition, mutex, &limit) == ETIMEDOUT { return isDone(&state) }
        }
        return true
    }
}
#endif
