import CBench
import CHRTimer
import Foundation
import HRTimerCore
import Synchronization

/// The least work of any engine whose handlers run without a lock held and receive the time: for every fire two locks, one
/// clock reading before and one after, and the call of a closure. No queue, no records, nothing to free.
///
/// With `asksUnlocked`, the rival of asking a timer's owner within these two critical sections: an owner that is asked with no
/// lock held takes the lock itself, once before the call and once after it.
final class LimitCrowd: Crowd, Sendable {
    let count: CrowdCount
    private let asksUnlocked: Bool
    private let handlers = Locked<[@Sendable (Int64) -> Void]>([])
    private let hasEnded = DispatchSemaphore(value: 0)
    private let isStarted = Atomic(false)

    init(count: CrowdCount, asksUnlocked: Bool = false) {
        self.count = count
        self.asksUnlocked = asksUnlocked
    }

    func add(_ timer: CrowdTimer) {
        handlers.withLock { $0.append { [count] _ in count.addOne() } }
        if isStarted.exchange(true, ordering: .relaxed) { return }
        Thread.detachNewThread { [self] in
            _ = hrt_thread_set_timer_slack_ns(1)
            cbench_sleep_until(timer.first_ns)
            fire()
            hasEnded.signal()
        }
    }

    private func fire() {
        // All timers were added before they were due; otherwise the sample is discarded.
        let handlers = handlers.withLock { $0 }
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
