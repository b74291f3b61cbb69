import CBench
import CHRTimer
import Foundation
import HRTimerCore
import Synchronization

/// The least work of any engine whose handlers run without a lock held and receive the time: for every fire two locks, one
/// clock reading before and one after, and the call of a closure. No queue, no records, nothing to free.
final class LimitCrowd: Crowd, Sendable {
    let count: CrowdCount
    private let handlers = Locked<[@Sendable (Int64) -> Void]>([])
    private let hasEnded = DispatchSemaphore(value: 0)
    private let isStarted = Atomic(false)

    init(count: CrowdCount) {
        self.count = count
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
            handler(now_ns)
            now_ns = cbench_now_ns()
            state.withLock { $0 &-= now_ns }
            now_ns = cbench_now_ns()
        }
    }

    func clear() { hasEnded.wait() }
}
