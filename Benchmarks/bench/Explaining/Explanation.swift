/// What a reader should know about a subject before reading its figures.
struct Explanation: Sendable {
    /// The call, or the calls, that wait.
    let call: String
    /// The manual page or document that describes it.
    let manual: String
    let traps: [Trap]

    /// Returns the explanation of a subject; every subject has one. The first row whose pattern matches holds for it. A
    /// primitive with the least slack is explained as without, unless it has a row of its own.
    static func of(_ subject: Subject) -> Explanation? {
        let id = subject.id
        let plain = id.hasSuffix(".slack-1") ? String(id.dropLast(8)) : id
        for name in [id, plain] {
            if let row = rows.first(where: { name.matches($0.id) }) {
                return Explanation(call: row.call, manual: row.manual, traps: row.traps.map { $0.trap(of: name) })
            }
        }
        return nil
    }

    private static let rows = kernelWaits + kernelTimers + libraries + runtimes + own
}

/// A row of the table of explanations.
struct ExplanationRow: Sendable {
    /// The subjects, as a shell pattern.
    let id: String
    let call: String
    let manual: String
    let traps: [TrapKind]

    init(_ id: String, _ call: String, _ manual: String, _ traps: TrapKind...) {
        self.id = id
        self.call = call
        self.manual = manual
        self.traps = traps
    }
}

/// A trap of a row, whatever the row's subject is.
enum TrapKind: Sendable {
    /// Traps that several calls have in common.
    case slack, relative, pollRule, wholeMilliseconds, wallClock
    /// It is exempt from slack, unlike the reference.
    case noSlack
    /// What it says needs no measurement.
    case says(String)
    /// Another subject shows it: by its lateness, or by its processor time.
    case later(than: String, every: Int64 = 1_000_000, fires: Int = 200, String)
    case dearer(than: String, String)

    func trap(of id: String) -> Trap {
        switch self {
        case .slack: .slack(id)
        case .relative: .relative
        case .pollRule: .pollRule(id)
        case .wholeMilliseconds: .wholeMilliseconds(id)
        case .wallClock: .wallClock
        case .noSlack: .against(Subject.referenceID, id, Trap.exemptFromSlack)
        case .says(let text): Trap(text)
        case .later(let rival, let interval_ns, let fires, let text):
            .against(rival, id, every: interval_ns, fires: fires, text)
        case .dearer(let rival, let text): .against(rival, id, text, by: .processorTime)
        }
    }
}
