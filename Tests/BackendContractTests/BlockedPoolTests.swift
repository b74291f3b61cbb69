#if compiler(>=6.3)
import TestTraits
import Testing

/// What comes in time while every thread of Swift's pool is blocked, in a process of its own. In time means: while they are.
@Suite("With all threads of the pool blocked", .serialized, .ownThread, .timeLimit(.minutes(15)))
struct BlockedPoolTests {
    private func says(_ scenario: String, _ executors: String...) throws -> String {
        try Program.run("BlockedPoolProgram", scenario, executors.first ?? "")
    }

    @Test(
        "a timeout cancels what blocks a thread of the pool: onCancel runs on a thread of its own",
        arguments: ["", "ours"]
    )
    func onCancel(_ executors: String) throws {
        #expect(try says("on-cancel", executors) == "came")
    }

    @Test("handlers of engines and of sources on queues come", arguments: ["handler", "source"], ["", "ours"])
    func handlers(_ scenario: String, _ executors: String) throws {
        #expect(try says(scenario, executors) == "came")
    }

    @Test("sleeps on a TimerExecutor come", arguments: ["", "ours"])
    func sleeps(_ executors: String) throws {
        #expect(try says("executor-sleep", executors) == "came")
    }

    @Test(
        "an unstructured timeout returns to a TimerExecutor, though its work has not even begun",
        arguments: ["", "ours"]
    )
    func unstructured(_ executors: String) throws {
        #expect(try says("executor-timeout", executors) == "came")
    }

    @Test("what runs in the pool waits, whosever that is: a Task.sleep there", arguments: ["", "ours"])
    func inPool(_ executors: String) throws {
        #expect(try says("task-sleep", executors) == "waits")
    }
}
#endif
