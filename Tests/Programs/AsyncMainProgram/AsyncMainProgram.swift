// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerCore
import MainThreadScenario

@main struct AsyncMainProgram {
    @MainActor static func main() async throws {
        if CommandLine.arguments.contains("run-loop") { return print(serveOnRunLoop()) }
        if CommandLine.arguments.contains("later") { try await Task.sleep(for: .milliseconds(1)) }
        let model = ViewModel(onMainThread: false)
        try model.begin()
        try await Task.sleep(for: .seconds(60))
    }

    /// Tries to serve on a run loop. This program is not linked with Foundation, so that there is none.
    nonisolated private static func serveOnRunLoop() -> String {
        do throws(TimerError) {
            try TimerLoop().serveOnCurrentRunLoop()
            return "served"
        } catch {
            return "errno \(error.errorNumber)"
        }
    }
}
