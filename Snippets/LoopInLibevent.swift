// A loop on a libevent event_base that the program has: timers beside its own events.
import CLibevent
import HRTimer

guard let base = event_base_new() else { fatalError("no event_base") }
let loop = try TimerLoop(eventBase: base)
let timer = LoopTimer(timeInterval: .milliseconds(10), repeats: true) { timer in
    print("late by", timer.fireInstant.duration(to: .now))
}
loop.add(timer, forMode: .default)
let end = LoopTimer(timeInterval: .milliseconds(55), repeats: false) { _ in
    loop.leaveEventBase()  // its events are gone: the base has nothing left to wait for, and dispatch returns
}
loop.add(end, forMode: .default)
event_base_dispatch(base)
event_base_free(base)
