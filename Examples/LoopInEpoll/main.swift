// SPDX-License-Identifier: Apache-2.0
// A loop inside a program with its own wait in epoll(7): one descriptor to watch, and one call when it is readable.
import CEpoll
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

let epoll = epoll_create1(0)
var event = epoll_event()
event.events = UInt32(EPOLLIN.rawValue)
epoll_ctl(epoll, EPOLL_CTL_ADD, try loop.hostDescriptor(), &event)
// Other descriptors of the program would be in the set too; `event.data` would tell which one is ready.
while timer.isValid {
    if epoll_wait(epoll, &event, 1, -1) > 0 { loop.process() }
}
close(epoll)
