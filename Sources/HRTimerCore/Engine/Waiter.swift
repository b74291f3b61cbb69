import CHRTimer

/// How an engine's thread waits for its next deadline.
public enum WayToWait: Sendable, Hashable, CaseIterable {
    /// `futex(2)` with an absolute timeout: one system call a wait and no descriptor. The default.
    case futex
    /// An absolute `timerfd_create(2)` timer and an `eventfd(2)` under `epoll(7)`: three descriptors; exempt from timer
    /// slack also where the slack cannot be set.
    case timerfd
}

/// Owner of a `hrt_wait`. One thread waits, any thread wakes.
package final class Waiter: @unchecked Sendable {
    // Sendable: the pointer is constant, hrt_wait_wake is thread-safe, and `wait` is called by the engine's thread alone.
    private let wait: OpaquePointer

    package init(_ way: WayToWait) throws(TimerError) {
        var wait: OpaquePointer?
        let kind = way == .futex ? HRT_WAIT_FUTEX : HRT_WAIT_TIMERFD
        try check(hrt_wait_create(kind, &wait), "make a way to wait (\(way))")
        self.wait = wait!
    }

    deinit {
        hrt_wait_destroy(wait)
    }

    /// True if woken, false if `deadline_ns` has come. `Int64.max` waits for a wake alone.
    @discardableResult
    package func wait(until deadline_ns: Int64) -> Bool {
        hrt_wait_until(wait, deadline_ns) == Int32(HRT_WAIT_WOKEN)
    }

    package func wake() {
        hrt_wait_wake(wait)
    }
}
