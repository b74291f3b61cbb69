// A timer that only accompanies the work, and does not keep the loop running: the loop ends with the work, without stop().
import HRTimer

let loop = TimerLoop()
let heartbeat = LoopTimer(timeInterval: .milliseconds(5), repeats: true) { _ in print("still at work") }
heartbeat.keepsLoopRunning = false
loop.add(heartbeat, forMode: .common)

loop.add(LoopTimer(timeInterval: .milliseconds(12), repeats: false) { _ in print("done") }, forMode: .default)
print(loop.run())  // finished, although the heartbeat is still in the loop
