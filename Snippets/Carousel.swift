// A carousel that turns its pages, rests while the user drags, and goes on 200 ms after that.
import HRTimer

let loop = TimerLoop.main
let start = loop.now
let pages = LoopTimer(timeInterval: .milliseconds(100), repeats: true) { _ in
    print("next page at", start.duration(to: loop.now))
}
loop.add(pages, forMode: .default)
// The time that was waited before the drag does not count.
let drag = LoopObserver(activities: [.entry, .exit]) { _, activity in
    pages.fireInstant = activity == .entry ? .distantFuture : loop.now.advanced(by: .milliseconds(200))
}
loop.add(drag, forMode: .tracking)

// As a view does on mouse-down: runs the loop in the tracking mode until mouse-up.
loop.perform(afterDelay: .milliseconds(250)) {
    print("drag begins")
    loop.run(mode: .tracking, for: 0.5)
    print("drag ends")
}
let events = LoopTrigger { _ in }
loop.add(events, forMode: .tracking)
loop.run(until: start + .milliseconds(1200))
pages.invalidate()
