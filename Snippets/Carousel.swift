// A carousel that turns its pages, pauses while the user drags, and resumes 200 ms later.
import HRTimer

let loop = TimerLoop.main
let start = loop.now
let carousel = AutoAdvance(every: .milliseconds(100), resumingAfter: .milliseconds(200), loop: loop) {
    print("next page at", start.duration(to: loop.now))
}
// As a view does on mouse-down: runs the loop in the tracking mode until mouse-up.
loop.perform(afterDelay: .milliseconds(250)) {
    print("drag begins")
    loop.run(mode: .tracking, for: 0.5)
    print("drag ends")
}
let events = LoopTrigger { _ in }
loop.add(events, forMode: .tracking)
loop.run(until: start + .milliseconds(1200))
carousel.invalidate()
