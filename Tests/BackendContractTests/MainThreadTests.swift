// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import TestTraits
import Testing

/// Behaviour that only a process's main thread can show, in programs of their own in Tests/Programs.
@Suite(.serialized, .ownThread, .hangLimit) struct MainThreadTests {
    private static let everything =
        "away background block delayed detached foreground frame here later once perform sleep source task tick"

    @Test(
        "A program with a view model, tasks, blocks and timers does the same under each loop of the main thread",
        // With the sanitizer and beside the whole suite the program is so slow that its own watchdog ends it.
        .disabled(if: isSanitized),
        arguments: [
            "loop", "foundation", "foundation-current", "foundation-by-hand", "poll", "dispatch", "loop-then-dispatch",
        ]
    )
    func sameEverywhere(_ world: String) throws {
        try expectEverything("MainThreadProgram", world)
    }

    /// Runs the program and expects everything. It runs again on a machine so busy that the program cannot tell its stop from
    /// others having the processor.
    private func expectEverything(_ program: String, _ world: String) throws {
        var said = ""
        for _ in 0..<3 where said != Self.everything { said = try Program.run(program, world) }
        #expect(said == Self.everything)
    }

    @Test(
        "The program does the same under an async main, begun on the main thread or after that thread is gone",
        .disabled(if: isSanitized),
        arguments: ["at once", "later"]
    )
    func asyncMain(_ when: String) throws {
        try expectEverything("AsyncMainProgram", when)
    }

    @Test(
        "With nothing to do the main thread's loop makes no wake-up, whether it runs itself or has a host",
        // The sanitizer's own thread wakes.
        .disabled(if: isSanitized)
    )
    func idle() throws {
        // The count includes the end of the run, the thread that counts, and that thread's end.
        for probe in ["idle", "idle-foundation", "idle-dispatch"] {
            // The best of some tries: a thread of the pool may end meanwhile.
            var fewest = Int.max
            for _ in 0..<4 where fewest > 4 {
                fewest = min(fewest, try #require(Int(try Program.run("MainThreadProgram", probe))))
            }
            #expect(fewest <= 4, "\(probe)")
        }
    }

    @Test("A post onto the main queue wakes the loop in less than twice the time that Foundation's loop takes")
    func wake() throws {
        var best = Double.infinity
        for _ in 0..<20 where best >= 2 {
            let ours = try #require(Double(try Program.run("MainThreadProgram", "wake")))
            best = min(best, ours / (try #require(Double(try Program.run("MainThreadProgram", "wake-foundation")))))
        }
        #expect(best < (isSanitized ? 10 : 2))
    }

    @Test(
        "The main queue is served in its place in a pass, not inside itself, and starves nothing else",
        arguments: [
            ("order", "true block, timer, main queue"),
            ("nested", "outer begins, timer, outer ends, inner without spinning"),
            ("starved", "true true true"),
            ("posts", "40000"),
            ("perform", "at once, before, in a pass, waited for, after"),
        ]
    )
    func place(_ probe: String, _ expected: String) throws {
        #expect(try Program.run("MainThreadProgram", probe) == expected)
    }

    private static let waysToWait = [
        "its handler", "its handler, after it left the loop", "its handler, after it moved to another loop",
        "another timer's handler", "a block", "an observer", "a source", "the main queue", "another loop's handler",
        "perform in another loop's handler",
    ]

    @Test(
        "On a loop's own thread nothing waits for that thread: invalidateAndWait and perform return, the main thread's too",
        .hangLimit,
        arguments: ["main", "thread"]
    )
    func waitOnLoopsThread(_ place: String) throws {
        for way in Self.waysToWait where place == "main" || way != "the main queue" {
            #expect(try Program.run("MainThreadProgram", "wait", place, way) == "went on", "\(place): \(way)")
        }
    }

    @Test(
        "Before its loop has ever run, the main thread waits in invalidateAndWait for a handler on another thread",
        .hangLimit
    )
    func waitBeforeAnyRun() throws {
        let said = try Program.run("MainThreadProgram", "wait", "main", "another thread's timer, before any run")
        #expect(said == "handler has returned\nwent on")
    }
}

/// A program of this package, which is built beside the tests.
enum Program {
    /// Runs the program. Returns what it prints, and its exit status unless that is 0.
    static func run(
        _ name: String,
        _ arguments: String...,
        environment: [String: String] = [:],
        includingErrors: Bool = false
    ) throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let process = Process()
        process.executableURL = URL(filePath: tests).deletingLastPathComponent().appending(path: name)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let output = Pipe()
        process.standardOutput = output
        if includingErrors { process.standardError = output }
        try process.run()
        let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let end = process.terminationStatus == 0 ? "" : "\nended with \(process.terminationStatus)"
        return said.trimmingCharacters(in: .whitespacesAndNewlines) + end
    }
}
