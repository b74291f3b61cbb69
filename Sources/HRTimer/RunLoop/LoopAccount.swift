public import HRTimerCore

/// What a loop did so far, and how late its calls were. Under the loop's lock.
struct LoopAccount: Sendable {
    private(set) var statistics = EngineStatistics()
    /// Made by the first call: a loop that fires nothing needs none.
    private(set) var lateness: LatencyHistogram?
    /// The deadline of the latest call of the pass.
    private var latest_ns = Int64.min
    /// How late the call that runs was, if that is to be recorded when it has returned; -1 if not.
    private var owed_ns: Int64 = -1

    @inline(__always)
    mutating func beginPass() { latest_ns = .min }

    /// A call that has begun at `now_ns`, and tells so many missed ticks.
    @inline(__always)
    mutating func count(_ deadline_ns: Int64, _ missedTicks: Int, now_ns: Int64) {
        count(missedTicks)
        if latest_ns > .min, latest_ns != deadline_ns { statistics.wakeupsSaved += 1 }
        latest_ns = deadline_ns
        record(now_ns.subtractingSaturating(deadline_ns))
    }

    @inline(__always)
    private mutating func count(_ missedTicks: Int) {
        statistics.fires += 1
        if missedTicks > 0 { statistics.missedTicks += UInt64(missedTicks) }
    }

    /// A pass that begins with a call made up before its deadline: counted before it too, so that nothing stands between the
    /// deadline and the handler.
    mutating func beginPass(withPrepared deadline_ns: Int64, _ missedTicks: Int) {
        countWakeup(isSpurious: false)
        count(missedTicks)
        latest_ns = deadline_ns
    }

    /// The prepared call was called off.
    mutating func takeBackPrepared(_ missedTicks: Int) {
        statistics.wakeups -= 1
        statistics.fires -= 1
        if missedTicks > 0 { statistics.missedTicks -= UInt64(missedTicks) }
        latest_ns = .min
    }

    /// The prepared call has begun so late.
    @inline(__always)
    mutating func owe(_ late_ns: Int64) { owed_ns = max(0, late_ns) }

    /// A call has returned.
    @inline(__always)
    mutating func settle() {
        guard owed_ns >= 0 else { return }
        record(owed_ns)
        owed_ns = -1
    }

    @inline(__always)
    private mutating func record(_ late_ns: Int64) {
        if lateness == nil { lateness = LatencyHistogram() }
        lateness?.record(max(0, late_ns) as Int64)
    }

    @inline(__always)
    mutating func countWakeup(isSpurious: Bool) {
        statistics.wakeups += 1
        if isSpurious { statistics.spuriousWakeups += 1 }
    }
}

extension LoopState {
    @inline(__always)
    mutating func countWakeup(isSpurious: Bool) { account.countWakeup(isSpurious: isSpurious) }
}

extension TimerLoop {
    /// Counts of what the loop did so far, as those of an engine: fires are calls of timers, and wake-ups that descriptors,
    /// blocks and other threads cause count too. Missed ticks count when a call tells them; wake-ups saved are deadlines that
    /// were called in the pass of another one. Any thread.
    public var statistics: EngineStatistics {
        var statistics = state.withLock { $0.account.statistics }
        statistics.wakesSent = waiter.wakesSent
        statistics.spinTime = .nanoseconds(waiter.spun_ns)
        return statistics
    }

    /// How late the calls of its timers were so far, from the deadline to the call, also where a mode without the timer ran
    /// meanwhile: a copy. O(buckets). Any thread.
    public var lateness: LatencyHistogram {
        state.withLock { $0.account.lateness?.copy() } ?? LatencyHistogram()
    }
}
