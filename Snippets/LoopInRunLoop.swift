// The main thread's loop inside Foundation's RunLoop, which on Linux watches no descriptor for anyone but Dispatch: by the main
// queue, which the main RunLoop serves.
import Foundation
import HRTimer

let host = try TimerLoop.main.serve(on: .main)

let timer = LoopTimer(timeInterval: .milliseconds(10), repeats: true) { timer in
    precondition(Thread.isMainThread)
    print("late by", .now - timer.fireInstant)
}
TimerLoop.main.add(timer, forMode: .default)

RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.055))
host.cancel()
