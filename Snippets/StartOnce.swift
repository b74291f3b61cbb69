// A start button that is pressed three times starts only one timer, which one stop ends.
import HRTimer

let stopwatch = ExclusiveTimer(interval: .milliseconds(100), loop: .main) { _ in print("tick") }
for _ in 1...3 { print("started:", stopwatch.start()) }
TimerLoop.main.run(until: .now.advanced(by: .milliseconds(350)))

stopwatch.stop()
TimerLoop.main.run(until: .now.advanced(by: .milliseconds(350)))
print("timers left:", TimerLoop.main.liveTimers)
