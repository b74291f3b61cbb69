import ArgumentParser
import Foundation
import HRTimer
import HRTimerExecutors

/// One block of `hrtimer.executors.task-sleep`, in the process that `bench` starts for it. Writes the block to standard output.
struct TaskSleepBlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "task-sleep-block", shouldDisplay: false)

    @Option var precision: String
    @Option var fires: Int
    @Option var interval: Int64
    @Option var phase: Int64
    @Option var settling: Int
    @Option var patience: Int64?

    func run() throws {
        #if compiler(>=6.3)
        // The parent decides what comes of Ctrl-C.
        signal(SIGINT, SIG_IGN)
        // Before the first task. The main thread waits for the block: nothing here is the main actor's.
        TimerExecutors.install(precision: precision == "precise" ? .precise : .normal)
        let recorder = BlockRecorder(
            fires: fires,
            interval_ns: interval,
            phase_ns: phase,
            settling: settling,
            patience_ns: patience
        )
        let sleeper = Task.detached {
            // What a process does once, when it first comes to it, the parent has done before its own blocks: threads, symbols,
            // the runtime's caches.
            for _ in 0..<20 { try await Task.sleep(for: .microseconds(500), clock: .suspending) }
            try await Subject.sleepOnAndOn(recorder, nil)
        }
        defer { sleeper.cancel() }
        try recorder.waitUntilFull()
        FileHandle.standardOutput.write(recorder.data)
        #endif
    }
}
