// Timers that accompany work and are none: the loop ends with the work, and needs no stop().
import HRTimer

let loop = TimerLoop.current
let heartbeat = LoopTimer(timeInterval: .milliseconds(5), repeats: true) { _ in print("still at work") }
heartbeat.keepsLoopRunning = false
loop.add(heartbeat, forMode: .common)

loop.add(LoopTimer(timeInterval: .milliseconds(12), repeats: false) { _ in print("done") }, forMode: .default)
print(loop.run())  // finished, though the heartbeat is there still
