// An hour of timers without waiting, as in a test.
import HRTimer
import HRTimerTesting

let time = ManualTime()
let engine = try TimerEngine(.init(time: time.base))
engine.schedule(after: .seconds(60), every: .seconds(60)) { fire in
    print("fired at", fire.firedAt)
}
time.advance(by: .seconds(3600))
print("fires:", engine.statistics.fires)
