#if compiler(>=6.3)
import TestTraits
import Testing

/// What comes in time while every thread of Swift's pool is blocked, in a process of its own. In time means: while they are.
@Suite("With all threads of the pool blocked", .serialized, .ownThread, .timeLimit(.minutes(15)))
struct BlockedPoolTests {
    private func says(_ scenario: String, _ executors: String...) throws -> String {
        try Program.run("BlockedPoolProgram", scenario, executors.first ?? "")
    }

    @Test("a timeout cancels what blocks a thread of the pool: onCancel runs on a thread of its own", arguments: ["", "ours"])
    func onCancel(_ executors: String) throws {
        #expect(try says("on-cancel", executors) == "came")
    }

    @Test("handlers of engines and of sources on queues come", arguments: ["handler", "source"], ["", "ours"])
    func handlers(_ scenario: String, _ executors: String) throws {
        #expect(try says(scenario, executors) == "came")
    }

    @Test("sleeps on a TimerExecutor come, and a MonotonicClock's on the main actor in our loop", arguments: ["executor-sleep", "main-sleep"], ["", "ours"])
    func sleeps(_ scenario: String, _ executors: String) throws {
        #expect(try says(scenario, executors) == "came")
    }

    @Test(
        "an unstructured timeout returns to a TimerExecutor and to the main actor, though its work has not even begun",
        arguments: ["executor-timeout", "main-timeout"],
        ["", "ours"]
    )
    func unstructured(_ scenario: String, _ executors: String) throws {
        #expect(try says(scenario, executors) == "came")
    }

    @Test(
        "what passes through the pool waits, whosever that is: Task.sleep in the pool, and of the main actor, which leaves that",
        arguments: ["task-sleep", "main-task-sleep"],
        ["", "ours"]
    )
    func inPool(_ scenario: String, _ executors: String) throws {
        #expect(try says(scenario, executors) == "waits")
    }
}
#endif
