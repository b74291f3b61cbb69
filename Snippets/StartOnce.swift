// A start button that is pressed three times starts only one timer, which one stop ends.
import HRTimer

final class Stopwatch {
    private var timer: LoopTimer?

    /// Begins anew: the timer that ran is replaced.
    func start() {
        timer?.invalidate()
        timer = LoopTimer.scheduled(timeInterval: .milliseconds(100), repeats: true) { _ in print("tick") }
    }

    func stop() { timer?.invalidate() }
}

let stopwatch = Stopwatch()
for _ in 1...3 { stopwatch.start() }
TimerLoop.main.run(until: .now.advanced(by: .milliseconds(350)))

stopwatch.stop()
TimerLoop.main.run(until: .now.advanced(by: .milliseconds(350)))
print("timers left:", TimerLoop.main.liveTimers)
