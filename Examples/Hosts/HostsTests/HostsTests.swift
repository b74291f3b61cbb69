// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// Loops inside the main loops of other libraries, each in a process of its own: GLib, libuv and SDL as packaged by Debian, and a
/// loop of frames with a poll of its own, like Godot's.
@Suite(.serialized) struct HostsTests {
    static let hosts = ["glib", "libuv", "sdl", "frames"]

    /// Runs a scenario. Returns the last line that the program writes.
    private func run(_ host: String, _ scenario: String) throws -> String {
        let program = Process()
        program.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent("HostProgram")
        program.arguments = [host, scenario]
        let output = Pipe()
        program.standardOutput = output
        try program.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        program.waitUntilExit()
        #expect(program.terminationStatus == 0)
        return text.split(separator: "\n").last.map(String.init) ?? ""
    }

    @Test(
        "A timer's calls are never early, and the best of a hundred is in time",
        .timeLimit(.minutes(2)),
        arguments: hosts
    )
    func timers(_ host: String) throws { #expect(try run(host, "timers") == "all holds") }

    @Test("Blocks that another thread posts come once each, in order", .timeLimit(.minutes(2)), arguments: hosts)
    func posts(_ host: String) throws { #expect(try run(host, "posts") == "all holds") }

    @Test(
        "An idle loop wakes nobody: the host is called for its timer alone",
        .timeLimit(.minutes(2)),
        arguments: hosts
    )
    func idle(_ host: String) throws { #expect(try run(host, "idle") == "all holds") }

    @Test(
        "Blocks of the main queue and tasks of the main actor come under the host",
        .timeLimit(.minutes(2)),
        arguments: hosts
    )
    func mainQueue(_ host: String) throws { #expect(try run(host, "main") == "all holds") }

    @Test(
        "In a loop of GLib's that a handler runs inside, timers go on, with g_source_set_can_recurse",
        .timeLimit(.minutes(2))
    )
    func nested() throws { #expect(try run("glib", "nested") == "all holds") }

    @Test("Without it they stand still there (GLib's rule)", .timeLimit(.minutes(2)))
    func notNested() throws { #expect(try run("glib", "not-nested") == "all holds") }
}
