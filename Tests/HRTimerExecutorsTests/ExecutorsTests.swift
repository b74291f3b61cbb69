#if compiler(>=6.3)
import Glibc
import TestSupport
import Testing

/// What holds in a process whose executors are ours, which this one cannot become: each in a child of its own.
@Suite("Under TimerExecutors", .serialized, .timeLimit(.minutes(3)))
struct ExecutorsTests {
    @Test(
        "sleeps are never early, keep their order, end when cancelled, and leave nothing behind",
        arguments: [
            "never-early", "never-early-anywhere", "every-form", "keeps-order", "cancels", "main-thread",
            "timer-executor",
            "yields",
        ],
        ["normal", "precise", "coalesced"]
    )
    func behaves(scenario: String, precision: String) throws {
        try expectDone(scenario, precision)
    }

    @Test("a hundred thousand sleeps at once all end", arguments: ["normal", "precise", "coalesced"])
    func many(precision: String) throws {
        try expectDone("sleeps-by-the-thousand", precision)
    }

    @Test("run() throws what its body throws")
    func throwing() throws {
        try expectDone("throws", "normal")
    }

    @Test("install() inside of a task ends the program with a sentence that says what to do")
    func late() throws {
        let (status, said) = try run("installs-late", "normal")
        #expect(status != 0)
        #expect(said.contains("before the first task"))
    }

    private func expectDone(_ scenario: String, _ precision: String) throws {
        let (status, said) = try run(scenario, precision)
        #expect(status == 0 && said == "done\n", "\(scenario) \(precision): \(said)")
    }

    /// The exit status, and what it printed.
    private func run(_ scenario: String, _ precision: String) throws -> (Int32, String) {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let program = try #require(ownFolder) + "/ExecutorsProgram"
        // No backtrace of a program that is meant to trap; and whatever hangs is ended.
        let script = "SWIFT_BACKTRACE=enable=no exec timeout 100 \(program) \(scenario) \(precision) 1>&\(ends[1]) 2>&1"
        let shell = try #require(Shell(script))
        close(ends[1])
        var said: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = read(ends[0], &buffer, buffer.count), count > 0 { said += buffer[..<count] }
        close(ends[0])
        return (shell.wait(), String(decoding: said, as: UTF8.self))
    }

    /// Where the tests' executable is, the program is too.
    private var ownFolder: String? {
        guard let path = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(path) }
        return String(cString: path).split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    }
}
#endif
