import Foundation
import HRTimer

import func HRTimerCompat.CFRunLoopObserverCreateWithHandler
import func HRTimerCompat.CFRunLoopPerformBlock
import func HRTimerCompat.CFRunLoopTimerCreateWithHandler
import class HRTimerCompat.RunLoop
import class HRTimerCompat.Timer

// Ported code of the main actor. Closures with Foundation's signatures name their actor, as in Foundation.

@MainActor final class Model {
    var count = 0
    private var items: [any Sendable] = []

    func schedule() {
        Timer.scheduledTimer(withTimeInterval: 1, repeats: true) { @MainActor _ in self.count += 1 }
        Timer.scheduledTimer(withTimeInterval: .seconds(1), repeats: true) { _ in self.count += 1 }
        items = [
            Timer(timeInterval: 1, repeats: true) { @MainActor [weak self] _ in self?.count += 1 },
            Timer(timeInterval: .seconds(1), repeats: true) { _ in self.count += 1 },
            Timer(fire: Date(), interval: 1, repeats: true) { @MainActor _ in self.count += 1 },
            Timer(fire: MonotonicInstant.now, interval: 1, repeats: true) { _ in self.count += 1 },
        ]
        RunLoop.main.perform { @MainActor in self.count += 1 }
        RunLoop.main.perform(inModes: [.common]) { @MainActor in self.count += 1 }
    }

    func coreFoundation() {
        items = [
            CFRunLoopTimerCreateWithHandler(nil, 0, 1, 0, 0) { _ in self.count += 1 },
            CFRunLoopObserverCreateWithHandler(nil, LoopObserver.Activity.all.rawValue, true, 0) { _, _ in
                self.count += 1
            },
        ]
        CFRunLoopPerformBlock(RunLoop.main, .default) { @MainActor in self.count += 1 }
    }
}
