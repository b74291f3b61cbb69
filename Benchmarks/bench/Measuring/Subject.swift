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
    /// Whether it is measured where nobody chose: a default run has a minute, and one screen.
    let isDefault: Bool
    /// Whether its deadlines are on our clock. What is armed on the wall clock fires early when that is slowed down, and the
    /// scheduler's own periods are on the scheduler's clock: neither closes the gate.
    let isOnOurClock: Bool

    init(
        _ id: String,
        _ explanation: String,
        isDefault: Bool = true,
        isOnOurClock: Bool = true,
        interval_ns: Int64? = nil,
        measure: @escaping @Sendable (BlockRecorder) throws -> Void
    ) {
        self.id = id
        self.explanation = explanation
        self.isDefault = isDefault
        self.isOnOurClock = isOnOurClock
        self.interval_ns = interval_ns
        self.measure = measure
    }

    /// All subjects, in the order in which they are shown.
    static let all: [Subject] =
        kernel + kernelWaits + kernelTimers + libevent + foundation + dispatch + swiftConcurrency
        + asyncAlgorithms + nio + children + hrtimer + executors

    /// What all others are held against, and what is measured twice for the noise floor.
    static let referenceID = "kernel.clock-nanosleep-abs"

    /// How a subject comes to its deadline, which decides how far two measurements of it may differ.
    enum Kind: String, Sendable, CaseIterable, Decodable {
        /// By being woken.
        case sleeping
        /// By reading the clock at the end.
        case spinning
        /// By being woken, and then handing the call to another thread.
        case submitting

        /// What is measured twice for it.
        var controlledID: String {
            switch self {
            case .sleeping: Subject.referenceID
            case .spinning: "hrtimer.source.precise"
            case .submitting: "dispatch.source-strict"
            }
        }
    }

    var kind: Kind { Self.kind(of: id) }

    static func kind(of id: String) -> Kind {
        let spinning = ["kernel.spin", "kernel.hybrid", "kernel.sdl-delay-precise", "kernel.umwait"]
        if spinning.contains(where: id.hasPrefix) || id.contains("-spin") || id.contains(".precise") {
            return .spinning
        }
        let submitting = [
            "dispatch.", "swift.", "hrtimer.source.dispatch-queue", "hrtimer.clock-sleep", "hrtimer.ticks",
        ]
        return submitting.contains(where: id.hasPrefix) ? .submitting : .sleeping
    }

    /// Whether it takes a processor for itself from deadline to deadline.
    var takesAProcessor: Bool { id.hasPrefix("kernel.spin-") && id != "kernel.spin-sleep" }

    /// Whether firing early, or leaving something behind, closes the gate.
    var isGated: Bool { isOnOurClock && (id.hasPrefix("kernel.") || id.hasPrefix("hrtimer.")) }

    /// Whether the id matches a shell pattern, fnmatch(3).
    func matches(_ pattern: String) -> Bool {
        fnmatch(pattern, id, 0) == 0
    }
}
