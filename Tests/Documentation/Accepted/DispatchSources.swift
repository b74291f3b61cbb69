import Dispatch
import Foundation
import HRTimer

import enum HRTimerCompat.DispatchSource
import class HRTimerCompat.DispatchSourceTimer

// The factory of timer sources, which takes Dispatch's types, imported beside all of Dispatch.

func uses() {
    let queue = DispatchQueue(label: "timers")
    let timer: DispatchSourceTimer = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
    let source: TimerSource = timer.source
    timer.schedule(deadline: .now() + .milliseconds(5), repeating: .milliseconds(5), leeway: .nanoseconds(0))
    timer.setEventHandler {}
    timer.activate()
    withExtendedLifetime(source) {}
}
