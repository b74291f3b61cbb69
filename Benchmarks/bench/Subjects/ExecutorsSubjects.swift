// SPDX-License-Identifier: Apache-2.0
import CBench
import Foundation
import HRTimer
import HRTimerExecutors

extension Subject {
    /// The standard library's own `Task.sleep` under `HRTimerExecutors`. Executors apply to the whole process and cannot be
    /// removed: each block is measured in a child process.
    static let executors: [Subject] = [
        Subject(
            "hrtimer.executors.task-sleep",
            "Task.sleep(until:) as it is under HRTimerExecutors, in a child process"
        ) {
            try measureInChild($0, .normal)
        },
        Subject(
            "hrtimer.executors.task-sleep.precise",
            "the same, precise: the engine spins up to the deadline, and the task resumes one hop later"
        ) {
            try measureInChild($0, .precise)
        },
    ]

    private static func measureInChild(_ recorder: BlockRecorder, _ precision: TimerPrecision) throws {
        #if compiler(>=6.3)
        try recorder.fill(
            byProgram: benchPath(),
            ["task-sleep-block", "--precision", "\(precision)"] + recorder.plan
        )
        #else
        throw MissingHardware(description: "needs Swift 6.3, whose executors can be replaced")
        #endif
    }
}
