import Foundation
import TestSupport
import Testing

/// Files written for Apple's timers, ported by their imports: Tests/Programs/AppsOnApple, and the same in AppsOnHRTimer.
@Suite(.serialized, .timeLimit(.minutes(15))) struct AppPortTests {
    private static let files = [
        "BackgroundRefresh", "Carousel", "Countdown", "DownloadHUD", "FrameLabel", "Poller", "ViewModel",
    ]

    private func lines(_ program: String, _ file: String) throws -> [String] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Programs/\(program)")
        return try String(contentsOf: folder.appending(path: "\(file).swift"), encoding: .utf8)
            .split(separator: "\n").map(String.init).filter { !$0.hasPrefix("import ") }
    }

    @Test("Beside the imports at most 15 of their lines are changed, and none is added or removed")
    func changedLines() throws {
        var changed = 0
        var all = 0
        for file in Self.files {
            let (apple, ours) = (try lines("AppsOnApple", file), try lines("AppsOnHRTimer", file))
            #expect(apple.count == ours.count)
            all += apple.count
            changed += zip(apple, ours).count { $0 != $1 }
        }
        #expect(all > 180)
        #expect(changed <= 15)
        // A selector, the attribute that makes one, and whether there is such a link at all.
        #expect(changed == 3)
    }

    private static let same = [
        "countdown: 3, 2, paused at 2, 1, 0",
        "carousel: 1, 2, 0, 1, resting: true, 2",
        "download: shown, hidden",
        "poller: 1, 2, 3, end",
        "refresh: 5 refreshes",
        "model: loaded, search swift, tick 1, tick 2, tick 3, loaded, 3",
    ]

    @Test(
        "Both do the same, on the main thread's loop, on a queue and on a thread of their own",
        // Slower than their own patience.
        .disabled(if: isSanitized)
    )
    func behaviour() throws {
        // On a machine so busy that ten seconds do not suffice, once more.
        for (program, expected) in [
            ("AppsOnApple", Self.same), ("AppsOnHRTimer", Self.same + ["label: at most 60 frames a second"]),
        ] {
            var said: [String] = []
            for _ in 0..<3 where said != expected {
                said = try Program.run(program, "all").split(separator: "\n").map(String.init)
            }
            #expect(said == expected)
        }
    }
}
