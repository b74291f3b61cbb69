/// The result of one of the doctor's checks.
struct Finding: Sendable, Equatable {
    enum Verdict: String, CaseIterable, Sendable {
        /// As good as it can be for timers.
        case ok
        /// Useful for reading a result, with nothing to fix.
        case info
        /// Makes timers later, more expensive or less even than necessary.
        case warn
        /// Results from here mean nothing until this is fixed.
        case bad
    }

    /// Stable, because scripts use it.
    let id: String
    let value: String
    let verdict: Verdict
    /// Why it matters to timers, in one sentence.
    let why: String
    /// The fix, in one line; nil if there is nothing to do.
    let fix: String?
    let needsRoot: Bool

    init(
        _ id: String,
        _ value: String?,
        _ verdict: Verdict,
        why: String,
        fix: String? = nil,
        needsRoot: Bool = false
    ) {
        self.id = id
        self.value = value ?? "not known"
        self.verdict = verdict
        self.why = why
        self.fix = verdict == .warn || verdict == .bad ? fix : nil
        self.needsRoot = needsRoot && self.fix != nil
    }

    var json: JSONValue {
        [
            "id": .string(id),
            "value": .string(value),
            "verdict": .string(verdict.rawValue),
            "why": .string(why),
            "fix": JSONValue(fix),
            "needs_root": .bool(needsRoot),
        ]
    }
}
