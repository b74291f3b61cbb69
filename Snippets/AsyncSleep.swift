// Sleep until an instant, in async code, and see how late the task went on.
import HRTimer

let clock = MonotonicClock()
var deadline = clock.now
for _ in 0..<5 {
    deadline = deadline.advanced(by: .milliseconds(10))
    try await clock.sleep(until: deadline)
    print("late by", deadline.duration(to: clock.now))
}
