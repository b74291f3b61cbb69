public import HRTimerCore

extension TimerLoop {
    /// The earliest deadline of the timers in `mode`: `distantFuture` if there are sources or blocks but no timer, nil if
    /// there is nothing. Runs nothing, unlike Foundation's `limitDate(forMode:)`. O(timers of the loop). Any thread.
    public func limitInstant(forMode mode: Mode) -> MonotonicInstant? {
        let time = time
        return state.withLock { state in
            guard let index = state.modes.known(mode) else { return nil }
            guard state.hasWork(in: index) else { return nil }
            var earliest_ns = Int64.max
            let modes = state.modes
            state.core.forEachTimer { deadline_ns, set, target in
                if modes.contains(set, index) {
                    earliest_ns = min(earliest_ns, target.shownDeadline_ns(deadline_ns, time))
                }
            }
            return MonotonicInstant(nanoseconds: earliest_ns)
        }
    }
}

extension TimerTarget? {
    /// When a loop's timer is due, also where that follows another clock, as far as it is known now.
    func shownDeadline_ns(_ deadline_ns: Int64, _ time: TimeBase) -> Int64 {
        guard let timer = self?.timer, timer.followed != nil else { return deadline_ns }
        return min(deadline_ns, timer.state.shownDeadline_ns(time))
    }
}

extension TimerTarget {
    /// A loop has no other targets.
    var timer: LoopTimer? {
        guard case .owner(let owner) = self else { return nil }
        return unsafeDowncast(owner as AnyObject, to: LoopTimer.self)
    }
}
