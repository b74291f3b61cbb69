#if os(Linux)
/// When a loop ran in which mode of late: so that items of other modes know that they were not to be called then.
struct RunLog: Sendable {
    struct Entry: Sendable {
        let index: Int
        let begin_ns: Int64
        var end_ns: Int64
    }

    /// The latest, in order of their end.
    private(set) var entries: [Entry] = []
    private static let kept = 8

    mutating func add(_ index: Int, from begin_ns: Int64, to end_ns: Int64) {
        guard begin_ns < end_ns else { return }
        // Code that runs a mode until something happens starts a run after each source: that counts as one run here.
        if let last = entries.last, last.index == index, begin_ns.subtractingSaturating(last.end_ns) < 1_000_000 {
            entries[entries.count - 1].end_ns = end_ns
            return
        }
        if entries.count == Self.kept { entries.removeFirst() }
        entries.append(Entry(index: index, begin_ns: begin_ns, end_ns: end_ns))
    }
}

extension LoopState {
    /// The innermost run ends.
    mutating func endRun(_ now_ns: @autoclosure () -> Int64) {
        guard let run = runs.popLast() else { return }
        serveGroups()
        guard runLog != nil, run.begin_ns < .max else { return }
        runLog?.add(run.index, from: run.begin_ns, to: now_ns())
    }
}

extension TimerLoop {
    /// From now on the loop writes down when it runs in which mode: two readings of the clock a run.
    func logRuns() {
        state.withLock { state in
            if state.runLog == nil { state.runLog = RunLog() }
        }
    }

    /// When the loop ran in modes that the timer is not in: what is still known of it.
    func runsWithout(_ timer: LoopTimer, now_ns: Int64) -> [ClosedRange<Int64>] {
        timer.withLink { link in
            guard link.core === core, !core.isInForkedChild else { return [] }
            return core.state.withLock { state in
                guard state.core.isLive(link.token), let log = state.runLog else { return [] }
                let modes = state.core.group(of: link.token)
                let present = state.runs.map { RunLog.Entry(index: $0.index, begin_ns: $0.begin_ns, end_ns: now_ns) }
                return (log.entries + present)
                    .filter { !state.modes.contains(modes, $0.index) && $0.begin_ns < $0.end_ns }
                    .map { $0.begin_ns...$0.end_ns }
            }
        }
    }
}
#endif
