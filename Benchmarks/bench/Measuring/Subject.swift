// SPDX-License-Identifier: Apache-2.0
/// A timer that is measured: something that fires at given instants.
struct Subject: Sendable {
    /// Stable, because scripts use it.
    let id: String
    /// A description in one line.
    let explanation: String
    /// The subject's own time between deadlines, whatever the run's interval is; such a subject is measured only if
    /// `--only` names it.
    let interval_ns: Int64?
    /// Fills a block, on the calling thread, which is a fresh one. Calls `begin()` when everything but the first deadline
    /// is set up. Throws if the subject cannot run here.
    let measure: @Sendable (BlockRecorder) throws -> Void
    /// Whether it is measured without an explicit choice: a default run has a minute, and one screen.
    let isDefault: Bool
    /// Whether its deadlines are on our clock. A timer on the wall clock fires early when that clock is slowed down, and
    /// the scheduler's own periods are on the scheduler's clock: neither closes the gate.
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
        kernel + libevent + foundation + dispatch + swiftConcurrency + [asyncAlgorithms] + nio + children + hrtimer
        + executors

    /// The subject with which all others are compared, and which is measured twice for the noise floor.
    static let referenceID = "kernel.clock-nanosleep-abs"

    /// The way in which a subject reaches its deadline. It decides how far two measurements of the subject may differ.
    enum Kind: String, Sendable, CaseIterable, Decodable {
        /// The thread is woken.
        case sleeping
        /// The thread reads the clock at the end.
        case spinning
        /// A thread is woken, and passes the call to another thread.
        case submitting

        /// The id of the subject of this kind that is measured twice.
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
        let spinning = ["kernel.spin", "kernel.hybrid", "kernel.called", "kernel.sdl-delay-precise", "kernel.umwait"]
        if spinning.contains(where: id.hasPrefix) || id.contains("-spin") || id.contains(".precise") {
            return .spinning
        }
        let submitting = [
            "dispatch.", "swift.", "hrtimer.source.dispatch-queue", "hrtimer.clock-sleep", "hrtimer.ticks",
        ]
        return submitting.contains(where: id.hasPrefix) ? .submitting : .sleeping
    }

    /// Whether it occupies a processor from deadline to deadline.
    var takesAProcessor: Bool { id.hasPrefix("kernel.spin-") && id != "kernel.spin-sleep" }

    /// Whether the gate closes if the subject fires early or leaves something behind.
    var isGated: Bool { isOnOurClock && (id.hasPrefix("kernel.") || id.hasPrefix("hrtimer.")) }
}
