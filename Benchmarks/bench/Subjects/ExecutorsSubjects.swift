import CBench
import Foundation
import HRTimer
import HRTimerExecutors

extension Subject {
    /// The standard library's own `Task.sleep` under `HRTimerExecutors`. Executors are the whole process's, and for good: each
    /// block is measured in a child.
    static let executors: [Subject] = [
        Subject(
            "hrtimer.executors.task-sleep",
            "Task.sleep(until:) as it is under HRTimerExecutors, in a child process"
        ) {
            try measureInChild($0, .normal)
        },
        Subject(
            "hrtimer.executors.task-sleep.precise",
            "the same, precise: the thread that waits spins up to the deadline"
        ) {
            try measureInChild($0, .precise)
        },
    ]

    private static func measureInChild(_ recorder: BlockRecorder, _ precision: TimerPrecision) throws {
        #if compiler(>=6.3)
        let child = Process()
        child.executableURL = URL(fileURLWithPath: try benchPath())
        child.arguments = ["task-sleep-block", "--precision", "\(precision)"] + recorder.plan
        let output = Pipe()
        child.standardOutput = output
        child.standardInput = FileHandle.nullDevice
        try child.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        child.waitUntilExit()
        guard child.terminationStatus == 0, recorder.fill(from: data) else {
            throw BenchError("the child ended with \(child.terminationStatus), and \(data.count) bytes")
        }
        #else
        throw MissingHardware(description: "needs Swift 6.3, whose executors can be replaced")
        #endif
    }
}
