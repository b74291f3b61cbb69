// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import HRTimer
import HRTimerExecutors

/// One block of `hrtimer.executors.task-sleep`, in the process that `bench` starts for it. Writes the block to standard
/// output.
struct TaskSleepBlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "task-sleep-block", shouldDisplay: false)

    @Option var precision: String
    @Option var fires: Int
    @Option var interval: Int64
    @Option var phase: Int64
    @Option var settling: Int
    @Option var patience: Int64?
    @Option var work: Int64

    func run() throws {
        #if compiler(>=6.3)
        // The parent decides what Ctrl-C does.
        signal(SIGINT, SIG_IGN)
        // Must come before the first task. The main thread waits for the block, so nothing here may run on the main actor.
        TimerExecutors.install(precision: precision == "precise" ? .precise : .normal)
        let recorder = BlockRecorder(
            fires: fires,
            interval_ns: interval,
            phase_ns: phase,
            settling: settling,
            patience_ns: patience,
            work_ns: work
        )
        let sleeper = Task.detached {
            // Warms up what a process does only once: threads, symbols, the runtime's caches. The parent has done that
            // before its own blocks.
            for _ in 0..<20 { try await Task.sleep(for: .microseconds(500), clock: .suspending) }
            try await recorder.fill(inTaskBySleeping: Subject.taskSleep(tolerance: nil))
        }
        defer { sleeper.cancel() }
        try recorder.waitUntilFull()
        FileHandle.standardOutput.write(recorder.data)
        #endif
    }
}
