import Foundation

import class HRTimerCompat.RunLoop

// Foundation's timers and our loop: one that is added to it would never fire.

func uses() {
    let timer = Timer(timeInterval: 1, repeats: true) { _ in }
    RunLoop.main.add(timer, forMode: .common)  // refused
    RunLoop.current.add(timer, forMode: .default)  // refused
}
