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
            state.core.forEachTimer { deadline_ns, set, target in
                if modes.contains(set, index) {
                    earliest_ns = min(earliest_ns, Self.shownDeadline_ns(target, deadline_ns, time))
                }
            }
            return MonotonicInstant(nanoseconds: earliest_ns)
        }
    }

    /// Returns the deadline of a loop's timer or display link. For a timer that follows another clock, this is the deadline as far
    /// as it is known now.
    static func shownDeadline_ns(
        _ target: TimerTarget?,
        _ deadline_ns: Int64,
        _ time: TimeBase
    ) -> Int64 {
        switch target {
        case .owner(let owner):
            guard let timer = owner as? LoopTimer else { return owner.shownDeadline_ns(deadline_ns) }
            return timer.followed == nil ? deadline_ns : min(deadline_ns, timer.state.shownDeadline_ns(time))
        default: return deadline_ns
        }
    }
}
#endif
