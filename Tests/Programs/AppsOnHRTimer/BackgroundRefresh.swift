import Foundation

import class HRTimerCompat.RunLoop
import class HRTimerCompat.Timer

/// A thread with a run loop of its own that refreshes a cache, until it is told to end.
final class BackgroundRefresh {
    private let lock = NSLock()
    private var isCancelled = false
    private var refreshes = 0
    private let onEnd: (Int) -> Void

    init(onEnd: @escaping (Int) -> Void) { self.onEnd = onEnd }

    func start() {
        let thread = Thread { [self] in
            let timer = Timer(timeInterval: 0.01, repeats: true) { [self] timer in
                lock.withLock { refreshes += 1 }
                if lock.withLock({ refreshes }) == 5 { cancel() }
            }
            RunLoop.current.add(timer, forMode: .default)
            while !lock.withLock({ isCancelled }) {
                guard RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.005)) else { break }
            }
            timer.invalidate()
            onEnd(refreshes)
        }
        thread.name = "refresh"
        thread.start()
    }

    func cancel() { lock.withLock { isCancelled = true } }
}
