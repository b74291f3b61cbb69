import Foundation

import class HRTimerCompat.Timer

// Only our timer is imported: one that is added to Foundation's loop would never fire.

func uses() {
    let timer = Timer(timeInterval: 1, repeats: true) { _ in }
    RunLoop.main.add(timer, forMode: .common)  // refused
    RunLoop.current.add(timer, forMode: .default)  // refused
    RunLoop.main.add(Timer(timeInterval: 1, repeats: true) { _ in }, forMode: .common)  // refused
}
