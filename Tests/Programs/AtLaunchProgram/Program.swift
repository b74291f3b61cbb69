// SPDX-License-Identifier: Apache-2.0
import Glibc
import HRTimer

#if compiler(>=6.3)
import HRTimerExecutors
#endif

/// An `async` main that calls no `install()`. Prints whose its sleeps are and at which priority it runs, on the main actor.
@main
struct Program {
    static func main() async throws {
        #if compiler(>=6.3)
        let sleeper = Task.detached { try await Task.sleep(for: .milliseconds(200)) }
        let begun = ContinuousClock.now
        while TimerExecutors.pendingSleeps == 0, ContinuousClock.now - begun < .milliseconds(100) { await Task.yield() }
        let isOurs = TimerExecutors.pendingSleeps > 0
        try await sleeper.value
        try await MonotonicClock().sleep(for: .milliseconds(1))
        MainActor.assertIsolated()
        print(isOurs ? "ours" : "the standard library's", Task.currentPriority == .medium ? "medium" : "other priority")
        #endif
    }
}
