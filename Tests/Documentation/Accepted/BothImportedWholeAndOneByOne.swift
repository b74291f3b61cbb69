import Foundation
import HRTimerCompat

import class HRTimerCompat.RunLoop
import class HRTimerCompat.Timer

// Importing both modules as wholes makes the names ambiguous; importing ours one by one resolves that.

func uses() {
    // The annotations use our own names, so that Foundation's types would be refused.
    let loop: TimerLoop = RunLoop.main
    let timer: LoopTimer = Timer(timeInterval: 1, repeats: true) { _ in }
    let later: LoopTimer = Timer(fire: Date(), interval: 1, repeats: true) { _ in }
    let scheduled: LoopTimer = Timer.scheduledTimer(withTimeInterval: 1, repeats: true) { _ in }
    let none: Timer? = nil as LoopTimer?
    loop.add(timer, forMode: .common)
    RunLoop.main.add(later, forMode: .common)
    RunLoop.main.perform {}
    RunLoop.main.run(until: Date(timeIntervalSinceNow: 1))
    _ = RunLoop.current.run(mode: .default, before: .distantFuture)
    withExtendedLifetime((scheduled, none)) {}
}

func takes(_ loop: RunLoop) -> TimerLoop { loop }
