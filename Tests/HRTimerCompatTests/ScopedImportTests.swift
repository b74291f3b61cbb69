import Foundation
import Testing

import class HRTimerCompat.RunLoop
import class HRTimerCompat.Timer

/// What a file ported by scoped imports looks like: Foundation's names, our types.
@Suite struct ScopedImportTests {
    @Test("In this file Timer and RunLoop are ours, though Foundation is imported whole")
    func names() {
        #expect(ObjectIdentifier(Timer.self) != ObjectIdentifier(Foundation.Timer.self))
        #expect(ObjectIdentifier(RunLoop.self) != ObjectIdentifier(Foundation.RunLoop.self))
    }

    @Test("A timer scheduled the way Foundation spells it fires on the current loop, one interval later")
    func scheduled() {
        let loop = RunLoop()
        let timer = Timer(timeInterval: 0.001, repeats: false) { timer in #expect(timer.isValid) }
        loop.add(timer, forMode: .common)
        loop.run()
        #expect(!timer.isValid)
    }

    @Test("acceptInput runs the loop once, as run(mode:before:) does, and not at all with nothing to do")
    func acceptInput() {
        let loop = RunLoop()
        let timer = Timer(timeInterval: 0.001, repeats: false) { _ in }
        loop.add(timer, forMode: .default)
        loop.acceptInput(forMode: .default, before: .distantPast)
        loop.acceptInput(forMode: .default, before: .distantFuture)
        #expect(!timer.isValid)
        loop.acceptInput(forMode: .default, before: .distantFuture)
    }
}
