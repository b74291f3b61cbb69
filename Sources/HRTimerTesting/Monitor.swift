// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerLibc

/// A value behind a lock, and threads that wait for it to change.
final class Monitor<State>: @unchecked Sendable {
    // Sendable: the state is accessed only with the mutex held; the mutex and the condition are made for use by many threads.
    private var state: State
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init(_ state: State) {
        self.state = state
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }

    /// Calls `body` with the lock held, and has the waiting threads look again.
    func change<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        defer { pthread_cond_broadcast(condition) }
        return try withLock(body)
    }

    /// Waits until `isDone`, or until the kernel's monotonic clock reads `limit_ns`. Returns false if it is not done by then.
    @discardableResult
    func wait(until limit_ns: Int64 = .max, _ isDone: (inout State) -> Bool) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isDone(&state) {
            if limit_ns == .max {
                pthread_cond_wait(condition, mutex)
                continue
            }
            var limit = timespec(tv_sec: Int(limit_ns / 1_000_000_000), tv_nsec: Int(limit_ns % 1_000_000_000))
            if pthread_cond_timedwait(condition, mutex, &limit) == ETIMEDOUT { return isDone(&state) }
        }
        return true
    }
}
#endif
