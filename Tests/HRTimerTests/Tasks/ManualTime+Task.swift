// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport

extension ManualTime {
    /// Runs what is due, without moving the clock, until the task has ended: for tasks on the executor of an engine on this time.
    func run(until task: Task<Void, Never>) async {
        let isDone = Recorder<Void>()
        Task {
            await task.value
            isDone.append(())
        }
        while isDone.count == 0 {
            advance(by: .zero)
            await Task.yield()
        }
    }
}
