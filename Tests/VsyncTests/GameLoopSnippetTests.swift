// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestSupport
import TestTraits
import Testing

/// Users copy Snippets/GameLoop.swift, so it must not have a frame rate of its own. Its program is built beside the tests.
@Suite(.serialized, .ownThread, .hangLimit) struct GameLoopSnippetTests {
    /// Returns the refreshes in the two seconds of a run: frames drawn, and frames dropped, as on a busy machine.
    private func refreshes(on source: String) throws -> Int {
        let tests = try #require(realpath("/proc/self/exe", nil))
        defer { free(tests) }
        let folder = String(cString: tests).split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
        let program = try #require(popen("VSYNC_SOURCE=\(source) exec timeout 60 '\(folder)/GameLoop'", "r"))
        var lines: [String] = []
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), program) != nil {
            lines.append(line.withUnsafeBufferPointer { String(cString: $0.baseAddress!) })
        }
        #expect(pclose(program) == 0)
        // The last line is like "245 steps in 60 frames, 0 dropped".
        let numbers = try #require(lines.last).split(separator: " ").compactMap { Int($0) }
        try #require(numbers.count == 3, "\(lines)")
        return numbers[1] + numbers[2]
    }

    @Test("The game snippet draws at the rate of a virtual display, whatever that is", arguments: [30, 60, 144])
    func virtual(_ framesPerSecond: Int) throws {
        let found = try refreshes(on: "virtual:\(framesPerSecond)")
        // Refreshes after the last drawn frame are not counted.
        #expect(abs(found - 2 * framesPerSecond) <= framesPerSecond / 5, "\(found)")
    }

    @Test(
        "The game snippet learns to follow an X server that refreshes at 30 or at 144 Hz instead of 60",
        .enabled(if: XServer.isInstalled, "Xvfb is not installed: apt-get install xvfb"),
        arguments: [30, 144]
    )
    func x11(_ framesPerSecond: Int) throws {
        let server = try XServer(framesPerSecond: framesPerSecond)
        // At first the link assumes 60 Hz. A busy machine may need longer to learn another rate: nearer to that is enough.
        let limit = 60 + framesPerSecond
        let found = try refreshes(on: "x11:\(server.display)")
        #expect(framesPerSecond < 60 ? found < limit : found > limit, "\(found)")
        withExtendedLifetime(server) {}
    }
}
