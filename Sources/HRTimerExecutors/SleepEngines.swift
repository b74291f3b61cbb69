// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if compiler(>=6.3) && !HRTIMER_NO_CUSTOM_EXECUTORS
import HRTimer

/// The engines of the process's sleeps, one for each clock: a sleep is a timer of one of them. An engine starts at the first
/// sleep on its clock, and once more in a child of `fork(2)`.
///
/// At the deadline the engine's thread makes the sleeping task ready, which its executor then runs: a sleep takes one switch of
/// threads. So a task that blocks after its sleep makes no other sleep late, but an executor whose `enqueue` blocks does.
final class SleepEngines: Sendable {
    private let monotonic: SharedEngine<TimerEngine>
    private let bootTime: SharedEngine<BootTimeTimerEngine>
    /// Whether tolerances have an effect.
    let coalesces: Bool

    init(_ precision: TimerPrecision, _ spinBudget: Double?) {
        let configuration = Self.configuration(precision, spinBudget)
        monotonic = SharedEngine { _ in try TimerEngine(configuration) }
        bootTime = SharedEngine { _ in try BootTimeTimerEngine(configuration) }
        coalesces = precision == .coalesced
    }

    private static func configuration(
        _ precision: TimerPrecision,
        _ spinBudget: Double?
    ) -> TimerEngine.Configuration {
        var configuration = TimerEngine.Configuration(name: "hrtimer-sleep", precision: precision, time: .kernel)
        var share = spinBudget
        // The hop to the task's thread is late enough, so the engine takes the wake latency back where that is free: it wakes
        // earlier by the latency that nine wakes of ten have anyway, and spins in the tenth.
        if precision == .normal, !SpinWindow.clockIsCoarse {
            configuration.precision = .precise
            configuration.spinCoverage = 0.1
            share = min(spinBudget ?? 1, 0.001)
        }
        // One budget for both engines.
        configuration.commonSpinBudget = SpinBudget.of(share, .kernel)
        return configuration
    }

    /// The number of sleeps whose deadline has not come, including cancelled ones.
    var pendingSleeps: Int { (monotonic.present?.liveTimers ?? 0) + (bootTime.present?.liveTimers ?? 0) }

    /// Runs the job when the deadline has come, never before. `tolerance_ns` is how much later is allowed.
    func add(_ job: UnownedJob, _ deadline: SleepDeadline, tolerance_ns: Int64) {
        let tolerance = Duration.nanoseconds(tolerance_ns)
        switch deadline {
        case .monotonic(let deadline_ns):
            let deadline = MonotonicInstant(nanoseconds: deadline_ns)
            monotonic.engine(in: .kernel).schedule(at: deadline, tolerance: tolerance) { _ in job.runAsInPool() }
        case .bootTime(let deadline_ns):
            let deadline = BootTimeInstant(nanoseconds: deadline_ns)
            bootTime.engine(in: .kernel).schedule(at: deadline, tolerance: tolerance) { _ in job.runAsInPool() }
        case .other(let remaining):
            guard let wait = remaining() else { return job.runAsInPool() }
            // That clock must be read again: it need not go as fast as ours.
            monotonic.engine(in: .kernel).schedule(after: wait) { [self] _ in add(job, deadline, tolerance_ns: 0) }
        }
    }
}
#endif
#endif
