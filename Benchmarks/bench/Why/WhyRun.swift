import CBench
import CHRTimer
import HRTimer
import HRTimerCore
import Synchronization

/// Explains what made the fires of a run late, for any kind of timer, from the kernel's counts for their threads.
final class WhyRun: Sendable {
    private let explains: Bool
    private let bound_ns: Int64?
    private let state = Locked(State())
    private let kernel: KernelTrace?

    private struct State: Sendable {
        // Sendable: only one block at a time uses this memory. It is never freed, because a stalled subject may still fire.
        nonisolated(unsafe) var room: UnsafeMutableBufferPointer<cbench_why_fire>?
    }

    /// The flight recorder of a run with `--trace`.
    static var flightRecorder: FlightRecorder? { recorder.withLock { $0 } }
    private static let recorder = Locked<FlightRecorder?>(nil)

    init(explains: Bool, bound_ns: Int64? = nil, isTraced: Bool = false) {
        self.explains = explains
        self.bound_ns = bound_ns
        kernel = explains ? KernelTrace() : nil
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
        kernel?.begin()
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
        var tail = WhyTail(Array(room.prefix(count)), beyond: bound_ns)
        if let culprits = kernel?.end(tail.windows) { tail.culprits = culprits }
        if result.tail == nil { result.tail = tail } else { result.tail?.add(tail) }
    }

    /// Shows the results, and writes the trace.
    func finish(_ results: [SubjectResult], _ options: WhyOptions, _ mayUseStandardOutput: Bool) throws {
        if explains {
            let tails = results.compactMap { result in result.tail.map { (result.subject.id, $0) } }
            let text = WhyText(tails: tails, bound_ns: bound_ns, lacks: kernel?.lacks).text
            if mayUseStandardOutput {
                try ReportOutput.standard().write("\n" + text)
            } else {
                StandardError.print(text)
            }
        }
        if let path = options.trace, let recorder = Self.flightRecorder {
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
    private(set) var windows: [KernelTrace.Window] = []
    /// For each name in the kernel's trace, how often it occupied the processor longest before a late fire.
    var culprits: [String: Int] = [:]

    /// Takes the fires above the bound, by default above the 95th percentile.
    init(_ fires: [cbench_why_fire], beyond bound_ns: Int64?) {
        self.fires = fires.count
        let sorted = fires.map { $0.woke_ns - $0.deadline_ns }.sorted()
        guard !sorted.isEmpty else { return }
        self.bound_ns = bound_ns ?? max(0, sorted[min(sorted.count - 1, sorted.count * 95 / 100)])
        for fire in fires where fire.woke_ns - fire.deadline_ns > self.bound_ns || sorted.count == 1 {
            late += 1
            let parts = Self.explained(fire).parts
            for cause in LatenessCause.allCases where parts[cause] > 0 { parts_ns[cause, default: 0] += parts[cause] }
            windows.append(.init(begin_ns: fire.deadline_ns, end_ns: fire.woke_ns, thread: fire.thread))
        }
    }

    mutating func add(_ other: WhyTail) {
        fires += other.fires
        late += other.late
        parts_ns.merge(other.parts_ns) { $0 + $1 }
        culprits.merge(other.culprits) { $0 + $1 }
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
