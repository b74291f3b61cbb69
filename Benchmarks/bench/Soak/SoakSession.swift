// SPDX-License-Identifier: Apache-2.0
import CBench
import Foundation
import HRTimer
import Synchronization

/// One run of `bench soak`: every face with its timers on a thread of its own, and the thread that watches them.
final class SoakSession {
    /// The result of one face.
    struct FaceResult: Sendable {
        let id: String
        let timers: Int
        let fires: Int
        let early: Int
        let lost: Int
        let missed: Int
        let late: Int
        let p50_ns: Int64
        let p99_ns: Int64
        let p999_ns: Int64
        let latest_ns: Int64
    }

    /// The state of the whole soak at some moment.
    struct Look: Sendable {
        let since_ns: Int64
        let fires: Int
        let resident_bytes: Int
        let descriptors: Int
    }

    let plan: SoakPlan
    private(set) var faces: [FaceResult] = []
    private(set) var churn = SoakChurn.Counts()
    private(set) var looks: [Look] = []
    private(set) var took_ns: Int64 = 0
    private(set) var cpu_ns: Int64 = 0
    private(set) var wasInterrupted = false

    init(_ plan: SoakPlan) {
        self.plan = plan
    }

    /// A face while it runs.
    private final class Running: Sendable {
        let face: SoakPlan.Face
        let fleet: Fleet
        let isArmed = DispatchSemaphore(value: 0)

        init(_ face: SoakPlan.Face, _ fleet: Fleet) {
            self.face = face
            self.fleet = fleet
        }

        /// Arms all timers, and lets them fire, in slices so that the end is noticed. A failure is the end of the soak.
        func run(until isOver: Flag) throws {
            defer { isArmed.signal() }
            do {
                let crowd = try face.make()
                defer { crowd.clear() }
                try crowd.arm(fleet)
                isArmed.signal()
                while !isOver.isSet { crowd.run(until: cbench_now_ns() + 200_000_000) }
            } catch {
                isOver.set()
                throw BenchError("\(face.id): \(error)")
            }
        }
    }

    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { value.load(ordering: .acquiring) }
        func set() { value.store(true, ordering: .releasing) }
    }

    func run(_ tell: (String) -> Void) throws {
        let faces = SoakPlan.faces + [Self.link]
        let all = try zip(faces, plan.timersByFace + [1]).map { Running($0, try fleet($0, $1)) }
        let churn = try SoakChurn()
        let isOver = Flag()
        defer { churn.end() }
        _ = try withThread {
            try onFreshThreads(all.count) { try all[$0].run(until: isOver) }
        } beside: {
            defer { isOver.set() }
            for running in all { running.isArmed.wait() }
            if !isOver.isSet { try soak(all, churn, tell) }
        }
    }

    private func soak(_ all: [Running], _ churn: SoakChurn, _ tell: (String) -> Void) throws {
        let isQuiet = Flag()
        let (end_ns, _) = try withThread { [plan] in
            churn.run(seed: plan.seed) { isQuiet.isSet }
        } beside: {
            defer { isQuiet.set() }
            return watch(all, tell)
        }
        // Armed one-shots still fire: those that are due by the end must not be missing then.
        let limit_ns = cbench_now_ns() + 60_000_000_000
        while cbench_now_ns() < limit_ns,
            all.contains(where: { $0.fleet.overdue(at: end_ns) > 0 }) || churn.soFar.lost != 0
        {
            usleep(20_000)
        }
        self.faces = all.map { result($0, end_ns: end_ns) }
        self.churn = churn.soFar
    }

    /// One link, for any number of timers.
    private static let link = SoakPlan.Face("hrtimer.display-link", 0) { DisplayLinkCrowd() }

    private func fleet(_ face: SoakPlan.Face, _ timers: Int) throws -> Fleet {
        let interval_ns = face.share == 0 ? 16_666_667 : plan.interval_ns
        let crowd = CrowdPlan(timers: timers, interval_ns: interval_ns, tolerance_ns: 0, phases: .random)
        // Time for arming all timers, 3 µs for each.
        let start_ns = cbench_now_ns() + 100_000_000 + Int64(plan.timers) * 3000
        // A long limit, for a busy machine.
        return try Fleet(crowd.timers(from: start_ns, seed: plan.seed), armingLimit: .seconds(600))
    }

    /// Looks at the whole soak every second, or more often in a short one, and reports every tenth look. Returns the
    /// instant at which the soak was over.
    private func watch(_ all: [Running], _ tell: (String) -> Void) -> Int64 {
        let from_ns = cbench_now_ns()
        let cpuBefore_ns = cbench_usage_now().process_cpu_ns
        let step_ns = min(1_000_000_000, max(10_000_000, plan.duration_ns / 20))
        while cbench_now_ns() - from_ns < plan.duration_ns, !wasInterrupted {
            let left_ns = plan.duration_ns - (cbench_now_ns() - from_ns)
            usleep(UInt32(clamping: min(left_ns, step_ns) / 1000 + 1))
            let look = look(all, from_ns)
            looks.append(look)
            if looks.count % 10 == 0 { tell(line(look, all)) }
            wasInterrupted = cbench_stop_requested()
        }
        let end_ns = cbench_now_ns()
        took_ns = end_ns - from_ns
        cpu_ns = cbench_usage_now().process_cpu_ns - cpuBefore_ns
        return end_ns
    }

    private func look(_ all: [Running], _ from_ns: Int64) -> Look {
        Look(
            since_ns: cbench_now_ns() - from_ns,
            fires: all.reduce(0) { $0 + Int(clamping: cbench_tally_fires($1.fleet.tally)) },
            resident_bytes: Int(cbench_resident_bytes()),
            descriptors: openDescriptors()
        )
    }

    private func line(_ look: Look, _ all: [Running]) -> String {
        let early = all.reduce(0) { $0 + Int(clamping: cbench_tally_early($1.fleet.tally)) }
        let seconds = Int(look.since_ns / 1_000_000_000)
        return
            "soak: \(seconds) of \(plan.duration_ns / 1_000_000_000) s, \(look.fires.grouped) fires, \(early) early, "
            + "\((look.resident_bytes >> 20).grouped) MiB, \(look.descriptors) descriptors"
    }

    private func result(_ running: Running, end_ns: Int64) -> FaceResult {
        let tally = running.fleet.tally
        return FaceResult(
            id: running.face.id,
            timers: running.fleet.timers.count,
            fires: Int(clamping: cbench_tally_fires(tally)),
            early: Int(clamping: cbench_tally_early(tally)),
            lost: running.fleet.overdue(at: end_ns),
            missed: Int(clamping: cbench_tally_missed(tally)),
            late: Int(clamping: cbench_tally_later_than(tally, plan.lateBound_ns)),
            p50_ns: cbench_tally_quantile_ns(tally, 500_000),
            p99_ns: cbench_tally_quantile_ns(tally, 990_000),
            p999_ns: cbench_tally_quantile_ns(tally, 999_000),
            latest_ns: cbench_tally_latest_ns(tally)
        )
    }
}

// The results.
extension SoakSession {
    var fires: Int { faces.reduce(0) { $0 + $1.fires } }
    var growth_bytes: Int? { SoakPlan.growth(looks.map(\.resident_bytes)) }

    /// Nil while there are too few samples.
    var isFlat: Bool? {
        growth_bytes.map { $0 <= SoakPlan.allowedGrowth(of: looks[looks.count / 2].resident_bytes) }
    }

    /// The number of descriptors that were opened after the first quarter, and stayed open.
    var leakedDescriptors: Int {
        guard looks.count >= 4, let last = looks.last else { return 0 }
        return last.descriptors - looks[looks.count / 4].descriptors
    }

    /// The reasons for failure; empty if the soak passed.
    var failures: [String] {
        var failures: [String] = []
        for face in faces {
            if face.early > 0 { failures.append("\(face.id): \(face.early.grouped) fired early") }
            if face.lost > 0 { failures.append("\(face.id): \(face.lost.grouped) deadlines were lost") }
            if face.fires == 0 { failures.append("\(face.id): nothing fired") }
        }
        if churn.lost != 0 {
            failures.append(
                "of \(churn.armed.grouped) one-shots \(churn.lost.grouped) neither fired nor were cancelled"
            )
        }
        let early = churn.early + churn.movedEarly
        if early > 0 { failures.append("\(early.grouped) moved or cancelled timers fired early") }
        if isFlat == false, let growth_bytes { failures.append("memory grew by \((growth_bytes >> 10).grouped) KiB") }
        if leakedDescriptors > 0 { failures.append("\(leakedDescriptors) descriptors were left open") }
        return failures
    }
}
