// A beat that gets faster halfway: the remainder of the present interval scales in proportion to the new interval. Where the instants of
// all beats are planned, move an engine's timer from its handler: engine.reschedule(fire.token, at:).
import HRTimer

// `.burst`: a beat that is late is played late, where `.merge`, the default, leaves it out.
let beats = MonotonicClock(precision: .precise).ticks(every: .milliseconds(120), policy: .burst)
var count = 0
for await beat in beats {
    count += 1
    print("beat \(count), late by \(beat.lateness)")
    if count == 3 { beats.interval = .milliseconds(60) }
    if count == 6 { beats.cancel() }
}
