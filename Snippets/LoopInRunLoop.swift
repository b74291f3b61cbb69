// The main thread's loop inside Foundation's RunLoop, which on Linux watches no descriptor for anyone but Dispatch: a read source
// on the main queue, which the main RunLoop serves.
import Dispatch
import Foundation
import HRTimer

let source = DispatchSource.makeReadSource(fileDescriptor: try TimerLoop.main.hostDescriptor(), queue: .main)
source.setEventHandler { TimerLoop.main.process() }
source.activate()

let timer = LoopTimer(timeInterval: .milliseconds(10), repeats: true) { timer in
    precondition(Thread.isMainThread)
    print("late by", timer.fireInstant.duration(to: .now))
}
TimerLoop.main.add(timer, forMode: .default)
TimerLoop.main.process()  // once, to begin

RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.055))
source.cancel()
