// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerCore
import HRTimerLibc

/// The threads that run the cancellation handlers of operations whose deadlines have passed. The handlers are users' code,
/// and may block. One thread, started on demand, takes the operations in the order of their deadlines. If a handler blocks
/// for a millisecond while others wait, another thread continues with those. A thread that is idle for a second ends.
@safe final class CancellationThreads: @unchecked Sendable {
    // Sendable: all mutable state is read and written with `mutex` held.

    /// The process's instance. A forked child does not have the threads, so it has another instance.
    static var shared: CancellationThreads { sharedThreads.engine }

    // On the heap, since they must not move. Safe: they live as long as this object, and nobody else has their addresses.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let wakes = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// The scopes that wait to be cancelled, from index `first` on.
    private var scopes: [(any Expiring)?] = []
    private var first = 0
    /// The number of the thread that takes scopes; nil if none does.
    private var runner: Int?
    /// The number of threads that wait, or are about to.
    private var waiters = 0
    private var threadsStarted = 0
    /// The number of scopes taken so far.
    private var taken = 0

    private static let patience_ns = 1_000_000
    private static let idle_ns = 1_000_000_000

    fileprivate init() {
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe wakes.initialize(to: pthread_cond_t())
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(wakes, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(wakes)
        unsafe pthread_mutex_destroy(mutex)
        unsafe wakes.deallocate()
        unsafe mutex.deallocate()
    }

    /// Has one of the threads cancel the scope's operation. The calling thread cancels it if there is no thread and none can
    /// be made. Any thread.
    func expire(_ scope: any Expiring) {
        unsafe pthread_mutex_lock(mutex)
        scopes.append(scope)
        var hasThread = true
        if waiters > 0 { unsafe pthread_cond_signal(wakes) } else { hasThread = startWaiter() || runner != nil }
        if !hasThread { scopes.removeLast() }
        unsafe pthread_mutex_unlock(mutex)
        if !hasThread { scope.expire() }
    }

    private var isEmpty: Bool { first == scopes.count }

    private func startWaiter() -> Bool {
        threadsStarted += 1
        let number = threadsStarted
        do throws(TimerError) {
            let thread = try startThread { [self] in run(number) }
            pthread_detach(thread)
            waiters += 1
            return true
        } catch {
            return false
        }
    }

    private func run(_ number: Int) {
        unsafe "hrtimer-cancel".withCString { unsafe hrt_thread_set_name($0) }
        unsafe pthread_mutex_lock(mutex)
        while waitForTurn() {
            waiters -= 1
            runner = number
            while runner == number, !isEmpty { runFirst() }
            if runner == number { runner = nil }
            // Another thread already waits, so this one ends.
            waiters += 1
            if waiters > 1 { break }
        }
        waiters -= 1
        unsafe pthread_mutex_unlock(mutex)
    }

    private func runFirst() {
        let scope = scopes[first].take()
        first += 1
        if isEmpty { (scopes, first) = ([], 0) }
        taken += 1
        // Another thread must check whether this one blocks in a handler.
        if !isEmpty, waiters == 0 { _ = startWaiter() }
        unsafe pthread_mutex_unlock(mutex)
        scope?.expire()
        unsafe pthread_mutex_lock(mutex)
    }

    /// Returns false if the thread was idle for too long.
    private func waitForTurn() -> Bool {
        while isEmpty || runner != nil {
            let (wasEmpty, before) = (isEmpty, taken)
            let isTimeUp = wait(wasEmpty ? Self.idle_ns : Self.patience_ns)
            guard isTimeUp else { continue }
            if wasEmpty, isEmpty { return false }
            if !wasEmpty, !isEmpty, taken == before { return true }
        }
        return true
    }

    /// Waits to be woken. Returns true if the time has passed first.
    private func wait(_ duration_ns: Int) -> Bool {
        var end = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &end)
        let nanoseconds = end.tv_nsec + duration_ns
        end.tv_sec += nanoseconds / 1_000_000_000
        end.tv_nsec = nanoseconds % 1_000_000_000
        return unsafe pthread_cond_timedwait(wakes, mutex, &end) == ETIMEDOUT
    }
}

/// An operation under a deadline, which these threads cancel.
protocol Expiring: AnyObject, Sendable {
    /// Cancels the operation, whose deadline has passed. This may take any time.
    func expire()
}

private let sharedThreads = SharedEngine { _ in CancellationThreads() }
#endif
