// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

extension TimerLoop {
    /// The mode of the innermost run; nil if the loop does not run.
    ///
    /// Any thread.
    public var currentMode: Mode? { state.withLock { $0.run?.mode } }

    /// Whether the loop sleeps, waiting for something to do.
    ///
    /// Any thread.
    public var isWaiting: Bool { state.withLock { $0.core.isParked } }

    /// Whether a run goes on while the loop has nothing to do: then only `stop()` or a limit ends it.
    ///
    /// Any thread.
    public var isKeptAlive: Bool {
        get { state.withLock { $0.isKeptAlive } }
        set { change { $0.isKeptAlive = newValue } }
    }

    /// How exact the loop's timers are, unless a timer asks for more; `.coalesced` by default.
    ///
    /// Any thread, at any time.
    ///
    /// * `.coalesced`: one absolute kernel deadline (`timerfd_settime(2)`), and a timer's `tolerance` is used to share it. A
    ///   timer without tolerance is as exact as in `.normal`.
    /// * `.normal`: as `.coalesced`, but tolerances are ignored.
    /// * `.precise`: the thread wakes a learned spin window before each deadline, and reads the clock until the deadline has
    ///   come. A wake, an earlier timer, `stop()` and blocks from other threads end the spin at once. Descriptors do not: one
    ///   that becomes ready in the spin window, tens of microseconds long, is looked at after the deadline's timers have
    ///   fired.
    ///
    /// Timers are never early. In a loop that a host drives (`process`, an `event_base`) the host waits, and `.precise`
    /// counts as `.normal`. On a virtual time all precisions are exact.
    public var precision: TimerPrecision {
        get { state.withLock { $0.core.precision } }
        set { change { $0.core.precision = newValue } }
    }

    /// The processor time that the loop may spin away for precise deadlines, as a share of one core: 0 ... 1, clamped; NaN
    /// counts as 0.
    ///
    /// Where it does not suffice, the spin windows shrink, down to `.normal`. Any thread.
    ///
    /// Nil is the default: the loop shares 0.0125 with all engines and loops of the process that have no budget of their own.
    /// That is 12.5 µs a fire of a 1 kHz timer, if there is no other.
    public var spinBudget: Double? {
        get { state.withLock { $0.spinBudget } }
        set {
            let budget = newValue.map { $0 > 0 ? min($0, 1) : 0 }
            change { $0.spinBudget = budget }
        }
    }

    /// Changes a setting that the loop's wait depends on, and makes the loop wait anew.
    private func change(_ body: (inout LoopState) -> Void) {
        core.update { state in
            body(&state)
            return state.mustWakeNow()
        }
    }
}

extension TimerLoop {
    /// Counts of what the loop has done so far, like those of an engine.
    ///
    /// Fires are calls of timers. Wake-ups that descriptors, blocks and other threads cause count too. Missed ticks count when
    /// a call reports them. Wake-ups saved are deadlines that were called in the pass of another one. Early wakes count anew
    /// when the `spinBudget` is changed. Any thread.
    public var statistics: TimerStatistics {
        var statistics = state.withLock { $0.core.account.statistics }
        statistics.lateness = core.observer.statistics
        statistics.wakesSent = waiter.wakesSent
        statistics.spinTime = .nanoseconds(waiter.spun_ns)
        waiter.shownWindow.withLock { $0 }?.describe(in: &statistics)
        return statistics
    }

    /// The lateness of the calls of the loop's timers so far, from the deadline to the call, also where a mode without the
    /// timer ran meanwhile.
    ///
    /// A copy. O(buckets). Any thread.
    public var lateness: LatencyHistogram {
        state.withLock { $0.core.account.latenessSoFar }
    }
}

extension TimerLoop {
    /// Returns the earliest deadline of the timers in `mode`: `distantFuture` if there are sources or blocks but no timer,
    /// nil if there is nothing. Runs nothing, unlike Foundation's `limitDate(forMode:)`. O(timers of the loop). Any thread.
    package func limitInstant(forMode mode: Mode) -> MonotonicInstant? {
        let time = time
        return state.withLock { state in
            guard let index = state.modes.known(mode) else { return nil }
            guard state.hasWork(in: index) else { return nil }
            var earliest_ns = Int64.max
            let modes = state.modes
            state.core.forEachTimer { set, target in
                if modes.contains(set, index) { earliest_ns = min(earliest_ns, Self.shownDeadline_ns(target, time)) }
            }
            return MonotonicInstant(nanoseconds: earliest_ns)
        }
    }

    /// Returns the deadline of a loop's timer or display link. For a timer that follows another clock, this is the deadline as
    /// far as it is known now. With the loop's lock held.
    static func shownDeadline_ns(_ target: TimerTarget?, _ time: TimeBase) -> Int64 {
        guard case .owner(let owner) = target else { return .max }
        let deadline_ns = owner.shownDeadline_ns(.max)
        guard let timer = owner as? LoopTimer, timer.followed != nil else { return deadline_ns }
        return min(deadline_ns, timer.state.shownDeadline_ns(time))
    }
}
#endif
