// SPDX-License-Identifier: Apache-2.0
// A robot's control loop at 1 kHz, with four ways to wait, and why its steps were late.
import Glibc
import HRTimer
import Measured

let seconds = number("seconds", 10)
let folder = option("output") ?? "."
/// Whether another timer on the same engine takes 0.8 ms once a second, as a logger would. The explanation should find it.
let hasNeighbour = CommandLine.arguments.contains("--neighbour")

/// The usual way of a control loop: a thread that sleeps until an absolute deadline.
func byNanosleep(_ run: Run) {
    let first_ns = monotonic_ns + Run.interval_ns
    var tick: Int64 = 0, missed = 0, isOn = true
    while isOn {
        let deadline_ns = first_ns + tick * Run.interval_ns
        var time = timespec(tv_sec: Int(deadline_ns / 1_000_000_000), tv_nsec: Int(deadline_ns % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
        isOn = run.step(deadline_ns: deadline_ns, missed: missed)
        (tick, missed) = (tick + 1, 0)
        // Leaves out deadlines that have passed, as .skip does.
        while first_ns + tick * Run.interval_ns < monotonic_ns - Run.interval_ns {
            (tick, missed) = (tick + 1, missed + 1)
        }
    }
}

/// The usual way in Swift.
func byTaskSleep(_ run: Run) async throws {
    var deadline = ContinuousClock.now + .milliseconds(1)
    var missed = 0, isOn = true
    while isOn {
        try await Task.sleep(until: deadline, tolerance: .zero, clock: .continuous)
        let late = deadline.duration(to: .now)
        isOn = run.step(deadline_ns: monotonic_ns - Int64(late / .nanoseconds(1)), missed: missed)
        (deadline, missed) = (deadline + .milliseconds(1), 0)
        while deadline < .now - .milliseconds(1) { (deadline, missed) = (deadline + .milliseconds(1), missed + 1) }
    }
}

/// Runs the control loop on an engine of its own. Returns the engine for its statistics.
func byEngine(_ run: Run, _ precision: TimerPrecision, isRealTime: Bool, _ explanation: Explanation) async throws
    -> TimerEngine
{
    var configuration = TimerEngine.Configuration(name: "robot", precision: precision)
    if isRealTime {
        configuration.realTime.schedulingClass = .fifo(priority: 20)
        configuration.realTime.locksMemory = true
        (configuration.spinBudget, configuration.spinCoverage) = (0.2, 0.999)
    }
    let engine = try TimerEngine(configuration)
    engine.onLate(beyond: Explanation.bound) { explanation.note($0) }
    if hasNeighbour {
        engine.schedule(after: 0.5005, every: .seconds(1)) { _ in
            let end_ns = monotonic_ns + 800_000
            while monotonic_ns < end_ns {}
        }
    }
    await withCheckedContinuation { continuation in
        engine.schedule(after: 0.001, every: .milliseconds(1), policy: .skip) { fire in
            if !run.step(deadline_ns: fire.deadline.nanoseconds, missed: fire.missedTicks) {
                engine.cancel(fire.token)
                continuation.resume()
            }
        }
    }
    return engine
}

func measure() async throws {
    var rows: [Figures.Row] = []
    do {
        let (run, before) = (Run(seconds: seconds), Usage.now())
        byNanosleep(run)
        rows.append(run.row("clock_nanosleep", isOurs: false, Usage.now() - before))
    }
    do {
        let (run, before) = (Run(seconds: seconds), Usage.now())
        try await byTaskSleep(run)
        rows.append(run.row("Task.sleep(until:)", isOurs: false, Usage.now() - before))
    }
    var explained: (explanation: Explanation, engine: TimerEngine, steps: Int)?
    for (name, isRealTime) in [("engine, precise", false), ("engine, precise, SCHED_FIFO", true)] {
        let (run, before, explanation) = (Run(seconds: seconds), Usage.now(), Explanation())
        let engine = try await byEngine(run, .precise, isRealTime: isRealTime, explanation)
        let used = Usage.now() - before
        let isGranted = await engine.awaitSettingResults().allSatisfy(\.isGranted)
        rows.append(run.row(isRealTime && !isGranted ? name + " (refused)" : name, isOurs: true, used))
        if !isRealTime { explained = (explanation, engine, run.steps) }
        if isRealTime { await engine.shutdown() }
    }
    try Figures("Robot", quantity: "lateness of a control step at 1 kHz", rows: rows).publish(to: folder)
    if let explained {
        explained.explanation.print(explained.engine, steps: explained.steps)
        await explained.engine.shutdown()
    }
}

try await measure()
