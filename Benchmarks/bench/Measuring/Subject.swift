import Glibc

/// Something that fires at given instants, to be measured.
struct Subject: Sendable {
    /// Stable: scripts use it.
    let id: String
    /// What it is, in one line.
    let explanation: String
    /// Its own time between deadlines, whatever the run's is; such a one is measured only when `--only` names it.
    let interval_ns: Int64?
    /// Fills a block, on the calling thread, which is a fresh one. Calls `begin()` when all is set up but the first
    /// deadline. Throws if it cannot run here.
    let measure: @Sendable (BlockRecorder) throws -> Void

    init(
        _ id: String,
        _ explanation: String,
        interval_ns: Int64? = nil,
        measure: @escaping @Sendable (BlockRecorder) throws -> Void
    ) {
        self.id = id
        self.explanation = explanation
        self.interval_ns = interval_ns
        self.measure = measure
    }

    /// All subjects, in the order in which they are shown.
    static let all: [Subject] = kernel + libevent + foundation + dispatch + swiftConcurrency + nio + hrtimer + executors

    /// What all others are held against, and what is measured twice for the noise floor.
    static let referenceID = "kernel.clock-nanosleep-abs"

    /// Whether firing early, or leaving something behind, closes the gate.
    var isGated: Bool { id.hasPrefix("kernel.") || id.hasPrefix("hrtimer.") }

    /// Whether the id matches a shell pattern, fnmatch(3).
    func matches(_ pattern: String) -> Bool {
        fnmatch(pattern, id, 0) == 0
    }
}
