#if os(Linux)
public import HRTimerCore

extension TimerLoop {
    /// Counts of what the loop has done so far, like those of an engine. Fires are calls of timers. Wake-ups that
    /// descriptors, blocks and other threads cause count too. Missed ticks count when a call reports them. Wake-ups saved are
    /// deadlines that were called in the pass of another one. Early wakes count anew when the `spinBudget` is changed. Any
    /// thread.
    public var statistics: EngineStatistics {
        var statistics = state.withLock { $0.core.account.statistics }
        statistics.lateness = core.observer.statistics
        statistics.wakesSent = waiter.wakesSent
        statistics.spinTime = .nanoseconds(waiter.spun_ns)
        waiter.shownWindow.withLock { $0 }?.describe(in: &statistics)
        return statistics
    }

    /// The lateness of the calls of the loop's timers so far, from the deadline to the call, also where a mode without the
    /// timer ran meanwhile. A copy. O(buckets). Any thread.
    public var lateness: LatencyHistogram {
        state.withLock { $0.core.account.latenessSoFar }
    }
}
#endif
