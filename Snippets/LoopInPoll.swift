// A loop inside a program that has its own wait, here poll(2): it watches one descriptor, and makes one call when that is
// readable. Examples/LoopInEpoll does the same with epoll(7).
import Glibc
import HRTimer

let loop = TimerLoop.current
let end = MonotonicInstant.now.advanced(by: .milliseconds(50))
let timer = LoopTimer(timeInterval: .milliseconds(10), repeats: true) { timer in
    print("late by", timer.fireInstant.duration(to: .now))
    if timer.fireInstant >= end { timer.invalidate() }
}
loop.add(timer, forMode: .default)
loop.process()  // once at the start

// Other descriptors of the program would be listed here too.
var watched = [pollfd(fd: try loop.hostDescriptor(), events: Int16(POLLIN), revents: 0)]
while timer.isValid {
    if poll(&watched, nfds_t(watched.count), -1) > 0, watched[0].revents != 0 { loop.process() }
}
