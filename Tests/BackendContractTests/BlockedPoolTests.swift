// SPDX-License-Identifier: Apache-2.0
#if compiler(>=6.3)
import TestTraits
import Testing

/// Calls that come in time, that is, while every thread of Swift's pool is blocked. Each test starts a process of its own.
@Suite("With all threads of the pool blocked", .serialized, .ownThread, .hangLimit)
struct BlockedPoolTests {
    private func says(_ scenario: String, _ executors: String...) throws -> String {
        try Program.run("BlockedPoolProgram", scenario, executors.first ?? "")
    }

    @Test(
        "a timeout cancels work that blocks a thread of the pool: onCancel runs on a thread of its own",
        arguments: ["", "ours"]
    )
    func onCancel(_ executors: String) throws {
        #expect(try says("on-cancel", executors) == "came")
    }

    @Test("handlers of engines and of sources on queues are called", arguments: ["handler", "source"], ["", "ours"])
    func handlers(_ scenario: String, _ executors: String) throws {
        #expect(try says(scenario, executors) == "came")
    }

    @Test("sleeps on a TimerExecutor end", arguments: ["", "ours"])
    func sleeps(_ executors: String) throws {
        #expect(try says("executor-sleep", executors) == "came")
    }

    @Test(
        "an unstructured timeout returns to a TimerExecutor, although its work has not even begun",
        arguments: ["", "ours"]
    )
    func unstructured(_ executors: String) throws {
        #expect(try says("executor-timeout", executors) == "came")
    }

    @Test("a Task.sleep in the pool waits, whichever executors provide the pool", arguments: ["", "ours"])
    func inPool(_ executors: String) throws {
        #expect(try says("task-sleep", executors) == "waits")
    }
}
#endif
