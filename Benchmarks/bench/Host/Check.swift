// SPDX-License-Identifier: Apache-2.0
/// One of the doctor's checks: a row of its table.
struct Check: Sendable {
    /// Stable, because scripts use it.
    let id: String
    /// Why it matters to timers, in one sentence.
    let why: String
    /// The fix, in one line; nil if there is nothing to do.
    let fix: String?
    let needsRoot: Bool
    private let judge: @Sendable (Machine) -> Judgement

    /// What a check saw, and what it means. A fix stands for the row's own.
    struct Judgement {
        let value: String?
        let verdict: Finding.Verdict
        let fix: String?

        init(_ value: String?, _ verdict: Finding.Verdict, fix: String? = nil) {
            self.value = value
            self.verdict = verdict
            self.fix = fix
        }
    }

    /// `rootFix` is a fix that takes root.
    init(
        _ id: String,
        why: String,
        fix: String? = nil,
        rootFix: String? = nil,
        _ judge: @escaping @Sendable (Machine) -> Judgement
    ) {
        self.id = id
        self.why = why
        self.fix = fix ?? rootFix
        needsRoot = rootFix != nil
        self.judge = judge
    }

    func finding(_ machine: Machine) -> Finding {
        let judgement = judge(machine)
        return Finding(
            id,
            judgement.value,
            judgement.verdict,
            why: why,
            fix: judgement.fix ?? fix,
            needsRoot: needsRoot
        )
    }

    /// All checks that take no time, and those of short measurements.
    static let quick = clock + processor + idle + rights + memory + container + load + kernel + noise + build
    static let all = quick + measured
}
