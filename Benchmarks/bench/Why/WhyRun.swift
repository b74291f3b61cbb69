// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import HRTimer
import HRTimerCore
import Synchronization

/// Explains what made the fires of a run late, for any kind of timer, from the kernel's counts for their threads.
final class WhyRun: Sendable {
    private let explains: Bool
    private let state = Locked(State())

    private struct State: Sendable {
        // Sendable: only one block at a time uses this memory. It is never freed, because a stalled subject may still fire.
        nonisolated(unsafe) var room: UnsafeMutableBufferPointer<cbench_why_fire>?
    }

    /// The flight recorder of a run with `--trace`.
    static var flightRecorder: FlightRecorder? { recorder.withLock { $0 } }
    private static let recorder = Locked<FlightRecorder?>(nil)

    init(explains: Bool, isTraced: Bool = false) {
        self.explains = explains
        if isTraced { Self.recorder.withLock { $0 = FlightRecorder(capacity: 65_536, lateBeyond: .microseconds(200)) } }
    }

    func begin(fires: Int) {
        guard explains else { return }
        var room = state.withLock { $0.room.take() } ?? .init(start: nil, count: 0)
        if room.count < fires { room = .allocate(capacity: fires) }
        // Written now, so that no fire causes a page fault.
        room.initialize(repeating: cbench_why_fire())
        state.withLock { [room] in $0.room = room }
        if let base = room.baseAddress { cbench_why_start(base, fires) }
    }

    /// Records the fires of a subject, on the thread that measures it.
    func note(_ fires: [Fire]) {
        guard let recorder = Self.flightRecorder else { return }
        for fire in fires { recorder.add(.call, .stale, fire.woke_ns, fire.woke_ns, fire.deadline_ns) }
    }

    func end(_ result: SubjectResult) {
        guard explains else { return }
        let count = cbench_why_stop()
        guard let room = state.withLock({ $0.room }) else { return }
        let tail = WhyTail(Array(room.prefix(count)))
        if result.tail == nil { result.tail = tail } else { result.tail?.add(tail) }
    }

    /// Shows the results, and writes the trace.
    func finish(_ results: [SubjectResult], traceTo path: String?, _ mayUseStandardOutput: Bool) throws {
        if explains {
            let tails = results.compactMap { result in result.tail.map { (result.subject.id, $0) } }
            let text = whyText(tails)
            if mayUseStandardOutput {
                try ReportOutput.standard().write("\n" + text)
            } else {
                StandardError.print(text)
            }
        }
        if let path, let recorder = Self.flightRecorder {
            try recorder.dump(to: path)
            Self.recorder.withLock { $0 = nil }
        }
    }
}

/// The latest fires of a subject, and the causes of their lateness.
struct WhyTail: Sendable {
    private(set) var fires = 0
    private(set) var late = 0
    /// The bound above which the first block's fires count as late.
    private(set) var bound_ns: Int64 = 0
    private(set) var parts_ns: [LatenessCause: Int64] = [:]

    /// Takes the fires above the 95th percentile.
    init(_ fires: [cbench_why_fire]) {
        self.fires = fires.count
        let sorted = fires.map { $0.woke_ns - $0.deadline_ns }.sorted()
        guard !sorted.isEmpty else { return }
        bound_ns = max(0, sorted[min(sorted.count - 1, sorted.count * 95 / 100)])
        for fire in fires where fire.woke_ns - fire.deadline_ns > bound_ns || sorted.count == 1 {
            late += 1
            let parts = Self.explained(fire).parts
            for cause in LatenessCause.allCases where parts[cause] > 0 { parts_ns[cause, default: 0] += parts[cause] }
        }
    }

    mutating func add(_ other: WhyTail) {
        fires += other.fires
        late += other.late
        parts_ns.merge(other.parts_ns) { $0 + $1 }
    }

    var total_ns: Int64 { parts_ns.values.reduce(0, +) }

    /// Returns the cause's share of all lateness, 0 to 1.
    func share(of cause: LatenessCause) -> Double {
        total_ns > 0 ? Double(parts_ns[cause] ?? 0) / Double(total_ns) : 0
    }

    /// Explains a fire, for a thread that only waited since its previous fire.
    static func explained(_ fire: cbench_why_fire) -> LatenessExplanation {
        var late = LateFire(deadline_ns: fire.deadline_ns, called_ns: fire.woke_ns)
        var timeline = ThreadTimeline()
        guard fire.before_ns >= 0 else { return late.explained(by: timeline) }
        timeline.add(.called, .min, fire.before_ns)
        timeline.add(.parked, fire.before_ns, fire.woke_ns, planned_ns: fire.deadline_ns)
        let (before, after) = (fire.before, fire.after)
        if after.run_delay_ns >= 0 { late.evidence.runDelay_ns = after.run_delay_ns - before.run_delay_ns }
        let faults = after.minor_faults + after.major_faults - before.minor_faults - before.major_faults
        late.evidence.faults_ns = faults * hrt_page_fault_ns()
        let switched = after.voluntary_switches > before.voluntary_switches
        if !switched {
            let gap_ns = fire.woke_ns - fire.before_ns - (after.cpu_ns - before.cpu_ns) - late.evidence.runDelay_ns
            late.evidence.stolen_ns = max(0, gap_ns - 10_000)
        }
        return late.explained(by: timeline)
    }
}

/// The text of `bench run --why`: a line for each subject, and a column for each cause that occurred.
func whyText(_ tails: [(id: String, tail: WhyTail)]) -> String {
    func percent(_ tail: WhyTail, _ cause: LatenessCause) -> Int { Int((100 * tail.share(of: cause)).rounded()) }
    let causes = LatenessCause.allCases.filter { cause in tails.contains { percent($0.tail, cause) != 0 } }
    let table = Table<(id: String, tail: WhyTail)>(
        columns: [
            Column("", isLeft: true) { .text($0.id) },
            Column("late fires") { .text("\($0.tail.late)") },
            Column("beyond") { .time($0.tail.bound_ns) },
        ]
            + causes.map { cause in
                Column(cause.rawValue) {
                    let percent = percent($0.tail, cause)
                    return .text(percent == 0 ? "" : "\(percent)")
                }
            },
        rows: tails,
        remark: { $0.tail.late == 0 ? "no fire was so late" : nil }
    )
    let head = ["What made them late: the latest 5 % of all fires, in per cent of their lateness", ""]
    let note = "As far as the kernel's counts of the thread that fired tell; a first fire of a thread is unexplained."
    return (head + table.lines() + ["", note]).joined(separator: "\n") + "\n"
}
