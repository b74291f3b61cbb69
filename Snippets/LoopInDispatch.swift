// A loop inside Dispatch: its handlers run on a serial queue, on whatever thread Dispatch gives the queue.
import Dispatch
import HRTimer

let loop = TimerLoop()
let queue = DispatchQueue(label: "timers")
let done = DispatchSemaphore(value: 0)
let host = try loop.serve(on: queue)

let timer = LoopTimer(timeInterval: .milliseconds(10), repeats: true) { timer in
    dispatchPrecondition(condition: .onQueue(queue))
    print("late by", .now - timer.fireInstant)
}
loop.add(timer, forMode: .default)

let end = LoopTimer(timeInterval: .milliseconds(55), repeats: false) { _ in done.signal() }
loop.add(end, forMode: .default)
done.wait()
host.cancel()
