// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import TestTraits
import Testing

/// Files written for Apple's timers (Tests/Programs/AppsOnApple), and the same files ported by their imports (AppsOnHRTimer).
@Suite(.serialized, .hangLimit) struct AppPortTests {
    private static let files = [
        "BackgroundRefresh", "Carousel", "Countdown", "DownloadHUD", "FrameLabel", "Poller", "ViewModel",
    ]

    /// Returns the lines of the file that are not empty.
    private func lines(_ program: String, _ file: String) throws -> [String] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Programs/\(program)")
        return try String(contentsOf: folder.appending(path: "\(file).swift"), encoding: .utf8)
            .split(separator: "\n").map(String.init)
    }

    private func isImport(_ line: String) -> Bool { line.hasPrefix("import ") }

    @Test("The port changes 3 of 181 lines and adds or removes none; it imports 13 names in place of one module")
    func changedLines() throws {
        var (changed, all) = (0, 0)
        var (added, removed) = (0, 0)
        for file in Self.files {
            let (apple, ours) = (try lines("AppsOnApple", file), try lines("AppsOnHRTimer", file))
            let (code, ourCode) = (apple.filter { !isImport($0) }, ours.filter { !isImport($0) })
            #expect(code.count == ourCode.count)
            all += code.count
            changed += zip(code, ourCode).count { $0 != $1 }
            let (imports, ourImports) = (Set(apple.filter(isImport)), Set(ours.filter(isImport)))
            added += ourImports.subtracting(imports).count
            removed += imports.subtracting(ourImports).count
        }
        #expect(all == 181)
        // A selector, the attribute that makes a method one, and the `#if` that asks whether there is such a link at all.
        #expect(changed == 3)
        #expect(added == 13)
        #expect(removed == 1)
    }

    private static let same = [
        "countdown: 3, 2, paused at 2, 1, 0",
        "carousel: 1, 2, 0, 1, resting: true, 2",
        "download: shown, hidden",
        "poller: 1, 2, 3, end",
        "refresh: 5 refreshes",
        "model: loaded, search swift, tick 1, tick 2, tick 3, loaded, 3",
    ]

    /// What the port says beside that. Its `Handlers.swift` imports nothing of HRTimerCompat.
    private static let ours = [
        "label: at most 60 frames a second",
        "handlers: "
            + [
                ["inheriting timer", "perform in modes", "perform"].map { "\($0) on the main thread" },
                Array(repeating: "plain perform elsewhere", count: 4),
                Array(repeating: "plain timer elsewhere", count: 2),
                ["timer", "timer's block"].map { "\($0) on the main thread" },
            ].joined().joined(separator: ", "),
    ]

    @Test(
        "The original and the port do the same on the main thread's loop, on a queue and on a thread of their own",
        // With a sanitizer the programs are slower than their own time limits.
        .disabled(if: isSanitized)
    )
    func behaviour() throws {
        // Runs again on a machine so busy that ten seconds are not enough.
        for (program, expected) in [
            ("AppsOnApple", Self.same), ("AppsOnHRTimer", Self.same + Self.ours),
        ] {
            var said: [String] = []
            for _ in 0..<3 where said != expected {
                said = try Program.run(program, "all").split(separator: "\n").map(String.init)
            }
            #expect(said == expected)
        }
    }
}
