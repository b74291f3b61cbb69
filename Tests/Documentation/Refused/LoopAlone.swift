import Foundation

import class HRTimerCompat.RunLoop

// Only our loop is imported: one of Foundation's timers that is added to it would never fire.

func uses() {
    let timer = Timer(timeInterval: 1, repeats: true) { _ in }
    RunLoop.main.add(timer, forMode: .common)  // refused
    RunLoop.current.add(timer, forMode: .default)  // refused
}
