// SPDX-License-Identifier: Apache-2.0
// A program whose state is on the main actor. The main thread's loop serves both its tasks and its timers.
import HRTimer

let player = Player { TimerLoop.main.stop() }
player.play()
let started = MonotonicInstant.now
Task {
    try await tidyUp()
    try await Task.sleep(until: .now + .milliseconds(5), clock: .monotonic)
    print("tidied up on the main actor, after more than 5 ms:", MonotonicInstant.now - started > .milliseconds(5))
}
TimerLoop.main.run(until: .now + .seconds(10))
TimerLoop.main.run(until: .now + .milliseconds(50))
