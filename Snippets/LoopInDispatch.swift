// A loop inside Dispatch: its handlers run on a serial queue, on whatever thread Dispatch gives the queue.
import Dispatch
import HRTimer

let loop = TimerLoop()
let queue = DispatchQueue(label: "timers")
let done = DispatchSemaphore(value: 0)
let host = try loop.serve(on: queue)

// In a constant of this type, since a closure passed from here would belong to the main actor, which waits below.
let tick: @Sendable (LoopTimer) -> Void = { timer in
    dispatchPrecondition(condition: .onQueue(queue))
    print("late by", .now - timer.fireInstant)
}
loop.add(LoopTimer(timeInterval: .milliseconds(10), repeats: true, block: tick), forMode: .default)

let end: @Sendable (LoopTimer) -> Void = { _ in done.signal() }
loop.add(LoopTimer(timeInterval: .milliseconds(55), repeats: false, block: end), forMode: .default)
done.wait()
host.cancel()
