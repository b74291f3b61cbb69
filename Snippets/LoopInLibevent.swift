// A loop on a libevent event_base that the program has: timers beside its own events.
#if Libevent
import CLibevent
import HRTimer

guard let base = event_base_new() else { fatalError("no event_base") }
let loop = TimerLoop.current  // main: the base serves the main queue too
let host = try loop.serve(onEventBase: base)
let timer = LoopTimer(timeInterval: .milliseconds(10), repeats: true) { timer in
    print("late by", .now - timer.fireInstant)
}
loop.add(timer, forMode: .default)
let end = LoopTimer(timeInterval: .milliseconds(55), repeats: false) { _ in
    host.cancel()  // the base has nothing left to wait for, and dispatch returns
}
loop.add(end, forMode: .default)
event_base_dispatch(base)
event_base_free(base)
#else
print("needs the trait Libevent, which is on by default")
#endif
