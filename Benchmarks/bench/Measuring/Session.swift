// SPDX-License-Identifier: Apache-2.0
import CBench
import Foundation
import HRTimerCore

/// One run of the bench: measures blocks in the order of the schedule, and collects their results.
///
/// Everything happens on the thread that calls `run`, except blocks, which run on fresh threads, one at a time.
final class Session {
    let plan: Plan
    /// In the order of the plan's subjects.
    let results: [SubjectResult]
    /// Some subjects a second time, as if they were others: they show by how much two measurements of the same subject
    /// differ.
    let controls: [SubjectResult]
    private(set) var wasInterrupted = false
    /// The number of rounds that were begun; fewer than planned if the time was over.
    private(set) var rounds = 0
    /// Both clocks at the beginning, in ns.
    private(set) var start: (monotonic_ns: Int64, wall_ns: Int64) = (0, 0)
    /// The timers and descriptors that gated subjects did not clean up, summed over their blocks.
    private(set) var leftBehind = LeftBehind()

    struct LeftBehind: Sendable {
        var timers = 0
        var descriptors = 0
    }

    private let tuning: Tuning
    /// Records what made fires late; nil without `--why`.
    let why: WhyRun?

    init(_ plan: Plan, _ tuning: Tuning = Tuning(), why: WhyRun? = nil) {
        self.plan = plan
        self.why = why
        self.tuning = tuning
        func result(_ subject: Subject) -> SubjectResult {
            SubjectResult(subject, interval_ns: plan.interval_ns(of: subject), settling: plan.settling)
        }
        results = plan.subjects.map(result)
        controls = plan.controlled.map(result)
    }

    /// Measures until all is done, or until SIGINT.
    func run(_ progress: Progress) {
        start = (cbench_now_ns(), cbench_wall_ns())
        wakeDispatch()
        if results.contains(where: { $0.subject.id.hasPrefix("hrtimer.executors.") }) { wakeProcess() }
        for (done, turn) in plan.schedule.turns.enumerated() {
            if cbench_stop_requested() {
                wasInterrupted = true
                break
            }
            if turn.round == rounds {
                if let limit_ns = plan.limit_ns, cbench_now_ns() - start.monotonic_ns > limit_ns { break }
                rounds += 1
            }
            let result = turn.subject < results.count ? results[turn.subject] : controls[turn.subject - results.count]
            progress.show(done: done, of: plan.schedule.turns.count, result.subject.id)
            measure(result, turn)
        }
        wasInterrupted = wasInterrupted || cbench_stop_requested()
        progress.finish()
    }

    private func measure(_ result: SubjectResult, _ turn: Schedule.Turn) {
        guard result.skippedBecause == nil else { return }
        let recorder = BlockRecorder(
            fires: plan.firesPerBlock(of: result.subject),
            interval_ns: result.interval_ns,
            phase_ns: turn.phase_ns,
            settling: plan.settling,
            patience_ns: plan.patience_ns(of: result.subject),
            work_ns: plan.work_ns,
            spinBudget: plan.spinBudget
        )
        why?.begin(fires: plan.firesPerBlock(of: result.subject))
        defer { why?.end(result) }
        let descriptorsBefore = openDescriptors()
        let before = Disturbance.sinceBoot()
        do {
            try onFreshThread { [subject = result.subject, tuning, why] in
                tuning.apply()
                try recorder.counting { try subject.measure(recorder) }
                why?.note(recorder.fires)
                if tuning.isTuned { recorder.threadsWithoutRealtime = Int(cbench_threads_without_realtime()) }
            }
        } catch {
            result.skippedBecause = "\(error)"
            result.isExcused = error is MissingHardware
            return
        }
        let fires = recorder.fires
        let block = BlockResult(
            round: turn.round,
            fires: fires,
            interval_ns: result.interval_ns,
            next_ns: recorder.nextDeadline_ns,
            usage: recorder.usage,
            disturbance: Disturbance.sinceBoot() - before,
            threadsWithoutRealtime: recorder.threadsWithoutRealtime
        )
        result.add(block, fires: fires)
        if result.subject.isGated {
            leftBehind.timers += recorder.timersLeftBehind
            leftBehind.descriptors += descriptorsLeftOpen(since: descriptorsBefore)
        }
    }

    /// Descriptors that a thread closes at its end may stay open for a moment on a busy machine; leaked ones stay open for
    /// good.
    private func descriptorsLeftOpen(since before: Int) -> Int {
        for _ in 0..<500 where openDescriptors() > before { usleep(1000) }
        return openDescriptors() - before
    }

    /// Dispatch opens the descriptors of its manager thread at the first timer of the process, and keeps them. That
    /// must not happen inside a block, nor count as something a subject left behind.
    private func wakeDispatch() {
        let woken = DispatchSemaphore(value: 0)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { woken.signal() }
        woken.wait()
    }

    /// Starts a first child process: Foundation then opens the descriptors that report the ends of children, and keeps
    /// them.
    private func wakeProcess() {
        _ = try? outputOfChild(["/bin/true"])
    }

    /// The reasons why the gate is closed; empty if it is open.
    var gateFailures: [String] {
        var failures: [String] = []
        for result in results where result.subject.isGated {
            if let reason = result.skippedBecause, !result.isExcused {
                failures.append("\(result.subject.id) could not run: \(reason)")
            }
            let early = result.lateness.earlyCount
            if early > 0 { failures.append("\(result.subject.id) fired early \(early) times") }
        }
        if leftBehind.timers != 0 { failures.append("\(leftBehind.timers) timers were left behind") }
        if leftBehind.descriptors != 0 { failures.append("\(leftBehind.descriptors) descriptors were left open") }
        return failures
    }

    /// The difference between two measurements of the same subject, for each kind of subject. The first is that of the
    /// reference.
    var noiseFloors: [ResultFile.Floor] {
        controls.compactMap { control in
            results.first { $0.subject.id == control.subject.id }.flatMap {
                ResultFile.Floor($0, control, plan.interval_ns)
            }
        }
    }
}

extension ResultFile.Floor {
    /// Returns nil without a percentile to compare.
    fileprivate init?(_ one: SubjectResult, _ other: SubjectResult, _ interval_ns: Int64) {
        func difference(_ percentile: Percentile) -> Int64? {
            one.lateness.value_ns(at: percentile).flatMap { left in
                other.lateness.value_ns(at: percentile).map { abs(left - $0) }
            }
        }
        guard let p50_ns = difference(.p50) else { return nil }
        self.init(
            id: one.subject.id,
            kind: one.subject.kind,
            interval_ns: interval_ns,
            p50_ns: p50_ns,
            p90_ns: difference(.p90),
            p99_ns: difference(.p99),
            exactShare: abs(one.exactShare - other.exactShare),
            cpuPerFire_ns: one.usage.cpuPerFire_ns.flatMap { left in
                other.usage.cpuPerFire_ns.map { right in abs(left - right) }
            }
        )
    }
}

/// Returns the number of the process's open descriptors.
func openDescriptors() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
}
