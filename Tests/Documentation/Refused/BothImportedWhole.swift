import Foundation
import HRTimerCompat

// With both modules imported whole, each name has two types. Each marked line must be refused, since it would silently use
// Foundation's timers. See Sources/HRTimerCompat/FoundationSignatures.swift and the Makefile's documentation-code.

func uses() {
    let loop = RunLoop.main  // ambiguous
    let timer = Timer(timeInterval: 1, repeats: true) { _ in }  // ambiguous
    let later = Timer(fire: Date(), interval: 1, repeats: true) { _ in }  // ambiguous
    let scheduled = Timer.scheduledTimer(withTimeInterval: 1, repeats: true) { _ in }  // ambiguous
    RunLoop.main.run()  // ambiguous
    RunLoop.main.run(until: Date(timeIntervalSinceNow: 1))  // ambiguous
    _ = RunLoop.current.run(mode: .default, before: .distantFuture)  // ambiguous
    _ = RunLoop.current.run(mode: RunLoop.Mode.default, before: Date())  // ambiguous
    RunLoop.main.perform {}  // ambiguous
    RunLoop.main.perform(inModes: [.common]) {}  // ambiguous
    RunLoop.main.add(Timer(timeInterval: 1, repeats: true) { _ in }, forMode: .common)  // ambiguous
    let none: Timer? = nil  // ambiguous
    RunLoop.current.run()  // ambiguous
    _ = RunLoop.main.limitDate(forMode: .default)  // ambiguous
    RunLoop.current.add(Port(), forMode: .default)  // ambiguous
    _ = RunLoop.Mode.common  // ambiguous
    let source = DispatchSource.makeTimerSource()  // ambiguous
    let held: DispatchSourceTimer? = nil  // ambiguous
}

func takes(_ loop: RunLoop) {}  // ambiguous

extension RunLoop {}  // ambiguous
extension Timer {}  // ambiguous
