// Async code that sleeps until an instant, and prints how late the task resumed.
import HRTimer

let clock = MonotonicClock()
var deadline = clock.now
for _ in 0..<5 {
    deadline = deadline.advanced(by: .milliseconds(10))
    try await clock.sleep(until: deadline)
    print("late by", deadline.duration(to: clock.now))
}
