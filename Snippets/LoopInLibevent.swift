// A loop on a program's libevent event_base: timers beside the program's own events.
#if Libevent
import CLibevent
import HRTimer

guard let base = event_base_new() else { fatalError("no event_base") }
let loop = TimerLoop.current  // the main loop: so the base serves the main queue too
let host = try loop.serve(onEventBase: base)
let timer = LoopTimer(timeInterval: .milliseconds(10), repeats: true) { timer in
    print("late by", .now - timer.fireInstant)
}
loop.add(timer, forMode: .default)
let end = LoopTimer(timeInterval: .milliseconds(55), repeats: false) { _ in
    host.cancel()  // then the base has nothing left to wait for, and dispatch returns
}
loop.add(end, forMode: .default)
event_base_dispatch(base)
event_base_free(base)
#else
print("needs the trait Libevent, which is on by default")
#endif
