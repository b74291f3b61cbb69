import Foundation

import class HRTimerCompat.Timer

// Our timers and Foundation's loop: one that is added to it would never fire.

func uses() {
    let timer = Timer(timeInterval: 1, repeats: true) { _ in }
    RunLoop.main.add(timer, forMode: .common)  // refused
    RunLoop.current.add(timer, forMode: .default)  // refused
    RunLoop.main.add(Timer(timeInterval: 1, repeats: true) { _ in }, forMode: .common)  // refused
}
