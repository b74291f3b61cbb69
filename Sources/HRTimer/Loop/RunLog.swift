// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

/// The latest runs of a loop and their modes, which show when timers of other modes could not be called.
struct RunLog: Sendable {
    struct Entry: Sendable {
        let index: Int
        let begin_ns: Int64
        var end_ns: Int64
    }

    /// The latest runs, in the order in which they ended.
    private(set) var entries: [Entry] = []
    private static let kept = 8

    mutating func add(_ index: Int, from begin_ns: Int64, to end_ns: Int64) {
        guard begin_ns < end_ns else { return }
        // Code that runs a mode until something happens starts a new run after each source. Such runs count as one here.
        if let last = entries.last, last.index == index, begin_ns.subtractingSaturating(last.end_ns) < 1_000_000 {
            entries[entries.count - 1].end_ns = end_ns
            return
        }
        if entries.count == Self.kept { entries.removeFirst() }
        entries.append(Entry(index: index, begin_ns: begin_ns, end_ns: end_ns))
    }
}

extension LoopState {
    /// Ends the innermost run.
    mutating func endRun(_ now_ns: @autoclosure () -> Int64) {
        guard let run = popRun() else { return }
        serveGroups()
        guard runLog != nil, run.begin_ns < .max else { return }
        runLog?.add(run.index, from: run.begin_ns, to: now_ns())
    }
}

extension LoopState {
    /// Returns when the loop ran in modes that the timer is not in, as far as the log still has it.
    func runsWithout(_ token: TimerToken, now_ns: Int64) -> [ClosedRange<Int64>] {
        guard core.isLive(token), let log = runLog else { return [] }
        let group = core.group(of: token)
        let present = runs.map { RunLog.Entry(index: $0.index, begin_ns: $0.begin_ns, end_ns: now_ns) }
        return (log.entries + present)
            .filter { !modes.contains(group, $0.index) && $0.begin_ns < $0.end_ns }
            .map { $0.begin_ns...$0.end_ns }
    }
}
#endif
