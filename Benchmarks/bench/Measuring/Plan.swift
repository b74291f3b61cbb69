// SPDX-License-Identifier: Apache-2.0
/// All that is decided before the first block.
struct Plan: Sendable {
    let subjects: [Subject]
    let interval_ns: Int64
    let firesPerBlock: Int
    private let block_ns: Int64
    private let leastFires: Int64
    /// The number of fires before them that are left out, while the timer is learning.
    let settling: Int
    let seed: UInt64
    let schedule: Schedule
    /// The elapsed time after which no further round begins; nil for never.
    let limit_ns: Int64?

    /// Returns how much longer than planned a block may take: twice the planned time in all. A subject that is later than
    /// that, or waits in whole milliseconds, has fewer fires and does not delay the others.
    func patience_ns(of subject: Subject) -> Int64 {
        Int64(firesPerBlock(of: subject) + settling) * interval_ns(of: subject) + 50_000_000
    }

    /// The subjects that are measured twice, one of each kind: the reference, or the first of the kind if that was not
    /// chosen.
    let controlled: [Subject]
    /// The spin budget of our own precise engines and loops; nil for their default.
    let spinBudget: Double?
    /// How long each subject's handler computes.
    let work_ns: Int64

    init(
        subjects: [Subject],
        interval: Duration,
        blocks: Int,
        block_ns: Int64,
        seed: UInt64,
        leastFires: Int64 = 8,
        settling: Int = 0,
        limit_ns: Int64? = nil,
        spinBudget: Double? = nil,
        work_ns: Int64 = 0
    ) {
        precondition(!subjects.isEmpty, "a plan needs a subject")
        self.subjects = subjects
        self.seed = seed
        self.settling = settling
        self.limit_ns = limit_ns
        self.block_ns = block_ns
        self.leastFires = leastFires
        interval_ns = Int64(interval / .nanoseconds(1))
        // At least `leastFires`, so that a block is meaningful, however long the interval.
        firesPerBlock = Int(max(leastFires, block_ns / interval_ns))
        self.spinBudget = spinBudget
        self.work_ns = work_ns
        controlled = Self.controlled(of: subjects)
        // Controls are additional subjects, and come last.
        let count = subjects.count + controlled.count
        schedule = Schedule(subjects: count, rounds: blocks, interval_ns: interval_ns, seed: seed)
    }

    private static func controlled(of subjects: [Subject]) -> [Subject] {
        let chosen = Subject.Kind.allCases.compactMap { kind in
            subjects.first { $0.id == kind.controlledID } ?? subjects.first { $0.kind == kind && !$0.takesAProcessor }
        }
        return chosen.isEmpty ? [subjects[0]] : chosen
    }

    /// Returns the time between deadlines of the subject.
    func interval_ns(of subject: Subject) -> Int64 { subject.interval_ns ?? interval_ns }

    /// Returns the number of fires that fill a block's time.
    func firesPerBlock(of subject: Subject) -> Int { Int(max(leastFires, block_ns / interval_ns(of: subject))) }

    /// The duration of the run if everything is on time.
    var expected: Duration {
        let blocks_ns = (subjects + controlled).map { subject in
            let interval_ns = interval_ns(of: subject)
            return Int64(firesPerBlock(of: subject) + settling) * interval_ns + self.interval_ns / 2 + 3_000_000
        }
        return .nanoseconds(Int64(schedule.rounds) * blocks_ns.reduce(0, +))
    }
}
