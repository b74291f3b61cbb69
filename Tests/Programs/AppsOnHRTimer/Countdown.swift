import Foundation

import class HRTimerCompat.RunLoop
import class HRTimerCompat.Timer

/// A countdown before a workout begins: started once, paused and resumed.
final class Countdown {
    private(set) var remaining: Int
    private var timer: Timer?
    private let onTick: (Int) -> Void

    init(from count: Int, onTick: @escaping (Int) -> Void) {
        remaining = count
        self.onTick = onTick
    }

    func start() {
        guard timer == nil else { return }
        let timer = Timer.scheduledTimer(withTimeInterval: 0.02, repeats: true) { [weak self] timer in
            guard let self else { return timer.invalidate() }
            self.remaining -= 1
            self.onTick(self.remaining)
            if self.remaining == 0 { self.stop() }
        }
        timer.tolerance = 0.002
        RunLoop.current.add(timer, forMode: .common)
        self.timer = timer
    }

    func pause() { timer?.fireDate = .distantFuture }
    func resume() { timer?.fireDate = Date(timeIntervalSinceNow: 0.02) }

    func stop() {
        timer?.invalidate()
        timer = nil
    }
}
