// SPDX-License-Identifier: Apache-2.0
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

        var style: Paint.Style? {
            switch self {
            case .ok: .green
            case .info: nil
            case .warn: .yellow
            case .bad: .red
            }
        }
    }

    let id: String
    let value: String
    let verdict: Verdict
    let why: String
    /// Nil where there is no problem.
    let fix: String?
    let needsRoot: Bool

    init(_ id: String, _ value: String?, _ verdict: Verdict, why: String, fix: String? = nil, needsRoot: Bool = false) {
        self.id = id
        self.value = value ?? "not known"
        self.verdict = verdict
        self.why = why
        self.fix = verdict == .warn || verdict == .bad ? fix : nil
        self.needsRoot = needsRoot && self.fix != nil
    }
}
