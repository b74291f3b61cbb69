// SPDX-License-Identifier: Apache-2.0
#if compiler(>=6.3)
import Glibc
import TestSupport
import TestTraits
import Testing

/// Tests of processes whose executors are ours. This process cannot become one, so each test runs a child process.
///
/// Takes a minute alone: some sixty processes, each of which sleeps in real time, a hundred thousand tasks among them.
@Suite("Under TimerExecutors", .serialized, .ownThread, .hangLimit)
struct ExecutorsTests {
    @Test(
        "sleeps are never early, keep their order, end when cancelled, and leave nothing behind",
        arguments: [
            "never-early", "never-early-anywhere", "every-form", "keeps-order", "cancels", "main-thread",
            "timer-executor", "yields", "blocks-everywhere", "many-at-once", "no-time",
            "no-time-here", "medium", "negative-tolerance", "delays-jobs",
        ],
        ["normal", "precise", "coalesced"]
    )
    func behaves(scenario: String, precision: String) throws {
        try expectDone(scenario, precision)
    }

    @Test(
        "on a TimerExecutor in virtual time sleeps on the standard library's clocks take virtual time",
        arguments: ["normal", "precise", "coalesced"]
    )
    func virtualTime(precision: String) throws {
        try expectDone("virtual-time", precision)
    }

    @Test("coalesced sleeps whose tolerances overlap end together")
    func coalescing() throws {
        try expectDone("shares-wakes", "coalesced")
    }

    @Test("sleeps that do not coalesce are not made longer by a tolerance", arguments: ["normal", "precise"])
    func tolerances(precision: String) throws {
        try expectDone("heeds-no-tolerance", precision)
    }

    @Test("a task that claims to be on the main actor, and is not, ends the program")
    func notIsolated() throws {
        let (status, said) = try run("ExecutorsProgram", "not-isolated normal")
        #expect(status != 0)
        #expect(!said.contains("done") && said.contains("Incorrect actor executor assumption"), "\(said)")
    }

    // Ten thousand if the program was built with a sanitizer.
    @Test("a hundred thousand sleeps at once all end", arguments: ["normal", "precise"])
    func many(precision: String) throws {
        try expectDone("sleeps-by-the-thousand", precision)
    }

    @Test("run() throws what its body throws")
    func throwing() throws {
        try expectDone("throws", "normal")
    }

    @Test("a second install() changes nothing, and the main thread's loop runs until it is stopped")
    func installing() throws {
        for precision in ["normal", "precise"] {
            try expectDone("installs-twice", precision)
            try expectDone("stays-alive", precision)
        }
    }

    @Test(
        "jobs, timers and sleeps of the main actor run in Foundation's loop, as under XCTest, and in dispatchMain()",
        arguments: ["foundation-loop", "dispatch-main"],
        ["normal", "precise"]
    )
    func otherLoops(scenario: String, precision: String) throws {
        try expectDone(scenario, precision)
    }

    @Test(
        "an async main has our sleeps if it links HRTimerExecutorsAtLaunch, and keeps the priority of all async mains"
    )
    func atLaunch() throws {
        for precision in ["normal", "precise", "coalesced"] {
            let (status, said) = try run("AtLaunchProgram", "", environment: "HRTIMER_EXECUTORS=\(precision)")
            #expect(status == 0 && said == "ours medium\n", "\(precision): \(said)")
        }
        let (status, said) = try run("AtLaunchProgram", "")
        #expect(status == 0 && said == "ours medium\n", "\(said)")
        let (offStatus, offSaid) = try run("AtLaunchProgram", "", environment: "HRTIMER_EXECUTORS=off")
        #expect(offStatus == 0 && offSaid == "the standard library's medium\n", "\(offSaid)")
        let (badStatus, badSaid) = try run("AtLaunchProgram", "", environment: "HRTIMER_EXECUTORS=quick")
        #expect(
            badStatus != 0 && badSaid.contains("HRTIMER_EXECUTORS is normal, precise, coalesced or off, and not quick")
        )
    }

    @Test("install() on another thread ends the program with a message that says what to do")
    func elsewhere() throws {
        let (status, said) = try run("ExecutorsProgram", "installs-elsewhere normal")
        #expect(status != 0)
        #expect(said.contains("on the main thread, first of all"))
    }

    @Test("install() inside a task ends the program with a message that says what to do")
    func late() throws {
        let (status, said) = try run("ExecutorsProgram", "installs-late normal")
        #expect(status != 0)
        #expect(said.contains("before the first task"))
    }

    private func expectDone(_ scenario: String, _ precision: String) throws {
        let (status, said) = try run("ExecutorsProgram", "\(scenario) \(precision)")
        #expect(status == 0 && said == "done\n", "\(scenario) \(precision): \(said)")
    }

    /// Returns the program's exit status and everything that it printed.
    private func run(
        _ program: String,
        _ arguments: String,
        environment: String = ""
    ) throws -> (Int32, String) {
        var name = Array("/tmp/executors.XXXXXX".utf8CString)
        let file = mkstemp(&name)
        try #require(file >= 0)
        let path = name.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        defer {
            close(file)
            unlink(path)
        }
        let program = try #require(ownFolder) + "/" + program
        // No backtrace of a program that is meant to trap. A program that hangs is ended.
        let script = "SWIFT_BACKTRACE=enable=no \(environment) exec timeout 300 \(program) \(arguments) >\(path) 2>&1"
        let status = try #require(Shell.run(script))
        var said: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = read(file, &buffer, buffer.count), count > 0 { said += buffer[..<count] }
        return (status, String(decoding: said, as: UTF8.self))
    }

    /// The folder of the tests' executable, in which the programs are too.
    private var ownFolder: String? {
        guard let path = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(path) }
        return String(cString: path).split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    }
}
#endif
