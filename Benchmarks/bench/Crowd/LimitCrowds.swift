// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import Foundation
import HRTimerCore

/// The least work of any engine for these timers: at each wake-up, for every due timer, a lock before and after, a clock
/// reading, and the call of its closure at the place where that was allocated. There is no queue: the timers are in an
/// array in the order in which they are due, which is the same in each interval. All timers have the same interval and
/// tolerance.
///
/// Unchecked: only the measuring thread uses it.
final class SortedLimitCrowd: Crowd, @unchecked Sendable {
    private struct Timer {
        var deadline_ns: Int64
        let fire: @Sendable (Int64) -> Void
    }

    private var timers: [Timer] = []
    /// The index of the earliest timer, kept from one run to the next.
    private var next = 0
    private var interval_ns: Int64 = 0
    private var tolerance_ns: Int64 = 0
    private let lock = UnsafeMutablePointer<hrt_lock>.allocate(capacity: 1)

    init() { lock.initialize(to: hrt_lock()) }

    deinit { lock.deallocate() }

    func arm(_ fleet: Fleet) throws {
        try fleet.armEach { timer, member in
            timers.append(Timer(deadline_ns: timer.first_ns) { _ in member.fire() })
        }
        timers.sort { $0.deadline_ns < $1.deadline_ns }
        interval_ns = fleet.timers.first?.interval_ns ?? .max
        tolerance_ns = fleet.timers.first?.tolerance_ns ?? 0
    }

    func run(until instant_ns: Int64) {
        // Restored afterwards, because others run on this thread too.
        let slack_ns = hrt_thread_timer_slack_ns()
        _ = hrt_thread_set_timer_slack_ns(1)
        defer { _ = hrt_thread_set_timer_slack_ns(slack_ns) }
        while !timers.isEmpty {
            let wake_ns = timers[next].deadline_ns + tolerance_ns
            if wake_ns >= instant_ns { return cbench_sleep_until(instant_ns) }
            cbench_sleep_until(wake_ns)
            var now_ns = cbench_now_ns()
            timers.withUnsafeMutableBufferPointer { timers in
                while timers[next].deadline_ns <= now_ns {
                    hrt_lock_acquire(lock)
                    timers[next].deadline_ns += interval_ns
                    hrt_lock_release(lock)
                    timers[next].fire(now_ns)
                    now_ns = cbench_now_ns()
                    hrt_lock_acquire(lock)
                    next = next + 1 == timers.count ? 0 : next + 1
                    hrt_lock_release(lock)
                }
            }
        }
    }

    func clear() { timers = [] }
}

/// The least work of any engine whose handlers run without a lock held and receive the time: for every fire two locks, one
/// clock reading before and one after, and the call of a closure. No queue, no records, nothing to free.
///
/// With `asksUnlocked`, the rival of asking a timer's owner within these two critical sections: an owner that is asked with no
/// lock held takes the lock itself, once before the call and once after it.
final class LimitCrowd: Crowd {
    private let asksUnlocked: Bool
    private let hasEnded = DispatchSemaphore(value: 0)

    init(asksUnlocked: Bool = false) {
        self.asksUnlocked = asksUnlocked
    }

    func arm(_ fleet: Fleet) throws {
        var handlers: [@Sendable (Int64) -> Void] = []
        try fleet.armEach { _, member in handlers.append { _ in member.fire() } }
        let due_ns = fleet.timers.first?.first_ns ?? 0
        Thread.detachNewThread { [handlers, asksUnlocked, hasEnded] in
            _ = hrt_thread_set_timer_slack_ns(1)
            cbench_sleep_until(due_ns)
            Self.fire(handlers, asksUnlocked)
            hasEnded.signal()
        }
    }

    private static func fire(_ handlers: [@Sendable (Int64) -> Void], _ asksUnlocked: Bool) {
        let state = Locked(Int64(0))
        var now_ns = cbench_now_ns()
        for handler in handlers {
            state.withLock { $0 &+= now_ns }
            if asksUnlocked { state.withLock { $0 ^= now_ns } }
            handler(now_ns)
            now_ns = cbench_now_ns()
            if asksUnlocked { state.withLock { $0 ^= now_ns } }
            state.withLock { $0 &-= now_ns }
            now_ns = cbench_now_ns()
        }
    }

    func clear() { hasEnded.wait() }
}
