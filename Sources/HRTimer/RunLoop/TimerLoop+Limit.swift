public import HRTimerCore

extension TimerLoop {
    /// The earliest deadline of the timers in `mode`: `distantFuture` if there are sources or blocks but no timer, nil if
    /// there is nothing. Runs nothing, unlike Foundation's `limitDate(forMode:)`. O(timers of the loop). Any thread.
    public func limitInstant(forMode mode: Mode) -> MonotonicInstant? {
        state.withLock { state in
            guard let index = state.modes.known(mode) else { return nil }
            guard state.hasWork(in: index) else { return nil }
            var earliest_ns = Int64.max
            state.records.forEach { record in
                guard record.timer != nil, state.modes.contains(record.modes, index) else { return }
                earliest_ns = min(earliest_ns, record.deadline_ns)
            }
            return MonotonicInstant(nanoseconds: earliest_ns)
        }
    }
}
