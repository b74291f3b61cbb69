// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
package import CHRTimer

/// How an engine's thread waits for its next deadline. Each way waits for an absolute instant, and its wait can be woken.
/// All but the futex serve each of the three clocks.
package enum ParkStrategy: Sendable, Hashable, CaseIterable {
    /// `futex(2)` with an absolute timeout: one system call a wait and no descriptor. The default. It does not support the
    /// boot-time clock: an engine on that clock that is configured with it throws ENOTSUP.
    case futex
    /// Two absolute `timerfd_create(2)` timers, one for the thread and one that other threads set for it, and an
    /// `eventfd(2)`, all under `epoll(7)`: four descriptors. Exempt from timer slack, even where the slack cannot be set.
    case timerfd

    package var kind: hrt_wait_kind {
        switch self {
        case .futex: HRT_WAIT_FUTEX
        case .timerfd: HRT_WAIT_TIMERFD
        }
    }
}

/// The owner of a `hrt_wait`. One thread waits, any thread wakes.
@safe package final class Waiter: @unchecked Sendable {
    // Sendable: the pointer is constant, hrt_wait_wake is thread-safe, and only the engine's thread calls `wait`. Safe: the `hrt_wait`
    // lives as long as this object, and nobody else has its address.
    private let wait: OpaquePointer

    package init(_ way: ParkStrategy, clock: TimerClock = .monotonic) throws(TimerError) {
        var wait: OpaquePointer?
        try unsafe check(hrt_wait_create(way.kind, clock.c, &wait), Self.operation(way, clock))
        unsafe self.wait = wait!
    }

    private static func operation(_ way: ParkStrategy, _ clock: TimerClock) -> String {
        "make a park strategy (\(way)\(clock == .monotonic ? "" : ", on the clock \(clock)"))"
    }

    deinit {
        unsafe hrt_wait_destroy(wait)
    }

    /// Makes waits in boot time wake a suspended system. To be called by the engine's thread, before it waits.
    func wakeSystem() throws(TimerError) {
        let request = SettingRequest(
            operation: "wake the system by CLOCK_BOOTTIME_ALARM (wakesSystem)",
            rights: "CAP_WAKE_ALARM",
            range: "a BootTimeTimerEngine that waits by .timerfd"
        )
        try unsafe request.check(hrt_wait_wake_system(wait))
    }

    /// Waits. Returns true if woken, false if `deadline_ns` has come. With `Int64.max` it waits for a wake alone.
    @discardableResult
    package func wait(until deadline_ns: Int64) -> Bool {
        unsafe hrt_wait_until(wait, deadline_ns) == Int32(HRT_WAIT_WOKEN)
    }

    /// Waits as `wait(until:)` does, but only until the spin window before the deadline. Returns true if woken.
    package func waitToSpinWindow(before deadline_ns: Int64, _ window: SpinWindow) -> Bool {
        unsafe hrt_wait_until_spin_window(wait, deadline_ns, window.c) == Int32(HRT_WAIT_WOKEN)
    }

    /// Reads the clock until the deadline or a wake, or sleeps if the deadline has become far. Returns whether it was
    /// woken, the last reading, and how long it spun.
    package func spin(until deadline_ns: Int64, _ window: SpinWindow) -> (isWoken: Bool, now_ns: Int64, spun_ns: Int64)
    {
        var now_ns: Int64 = 0
        var spun_ns: Int64 = 0
        let outcome = unsafe hrt_wait_spin_until(wait, deadline_ns, window.c, &now_ns, &spun_ns)
        return (outcome == Int32(HRT_WAIT_WOKEN), now_ns, spun_ns)
    }

    /// Has the present wait woken when the clock comes to `deadline_ns`. Returns false if this kind of wait cannot do that.
    package func wake(at deadline_ns: Int64) -> Bool {
        unsafe hrt_wait_wake_at(wait, deadline_ns)
    }

    package func wake() {
        unsafe hrt_wait_wake(wait)
    }
}
#endif
