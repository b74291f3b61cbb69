// A handler blocks the loop for several periods: when each policy calls next, and how many missed ticks it reports.
import Glibc
import HRTimer

let start = TimerLoop.main.now
for policy in MissedTickPolicy.allCases {
    let timer = LoopTimer(timeInterval: .milliseconds(50), repeats: true, policy: policy) { timer in
        print(policy, "at", start.duration(to: TimerLoop.main.now), "missed", timer.missedTicks)
    }
    TimerLoop.main.add(timer, forMode: .default)
}
let block = LoopTimer(timeInterval: .milliseconds(60), repeats: false) { _ in usleep(220_000) }
TimerLoop.main.add(block, forMode: .default)
TimerLoop.main.run(until: start.advanced(by: .milliseconds(400)))
