import Foundation
import HRTimer
import Testing

import class HRTimerCompat.RunLoop
import class HRTimerCompat.Timer

@Suite struct TwinsTests {
    @Test(
        "The same file is compiled with Foundation's or Dispatch's timers and with ours",
        arguments: [("", "Foundation"), ("Lives", "Foundation"), ("Loops", "Foundation"), ("Sources", "Dispatch")]
    )
    func twins(_ name: String, _ peer: String) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let texts = try ["\(name)With\(peer).swift", "\(name)WithHRTimer.swift"].map { name in
            try String(contentsOf: folder.appending(path: name), encoding: .utf8)
                .split(separator: "\n", omittingEmptySubsequences: false)
                .filter { !$0.hasPrefix("import ") }
                .drop { $0.isEmpty }
        }
        #expect(texts[0] == texts[1])
        #expect(texts[0].count > 20)
    }

    @Test("The names stand for our types even in a file that imports Foundation")
    func names() {
        #expect(ObjectIdentifier(Timer.self) == ObjectIdentifier(LoopTimer.self))
        #expect(ObjectIdentifier(RunLoop.self) == ObjectIdentifier(TimerLoop.self))
    }
}
