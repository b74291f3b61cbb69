import Dispatch

import enum HRTimerCompat.DispatchSource
import class HRTimerCompat.DispatchSourceTimer

/// Asks a server again and again, on a queue of its own, and not while the app is in the background.
final class Poller {
    private let queue = DispatchQueue(label: "poller")
    private let source: DispatchSourceTimer
    private var polls = 0

    init(every interval: DispatchTimeInterval, onPoll: @escaping (Int) -> Void, onEnd: @escaping () -> Void) {
        source = DispatchSource.makeTimerSource(flags: [], queue: queue)
        source.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(1))
        source.setEventHandler { [weak self] in
            guard let self else { return }
            self.polls += 1
            onPoll(self.polls)
        }
        source.setCancelHandler { onEnd() }
    }

    func resume() { source.resume() }
    func suspend() { source.suspend() }
    func stop() { source.cancel() }
    func slowDown() { source.schedule(deadline: .now() + 0.02, repeating: 0.02) }
}
