#if os(Linux)
public import HRTimerCore

extension TimerLoop {
    /// Returns the earliest deadline of the timers in `mode`: `distantFuture` if there are sources or blocks but no timer,
    /// nil if there is nothing. Runs nothing, unlike Foundation's `limitDate(forMode:)`. O(timers of the loop). Any thread.
    public func limitInstant(forMode mode: Mode) -> MonotonicInstant? {
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
