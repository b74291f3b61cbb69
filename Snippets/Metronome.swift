// A beat that gets faster in its midst: what is left of the present interval is left of the new one, in proportion.
import HRTimer

let beats = MonotonicClock(precision: .precise).ticks(every: .milliseconds(120))
var count = 0
for await beat in beats {
    count += 1
    print("beat \(count), late by \(beat.lateness)")
    if count == 3 { beats.interval = .milliseconds(60) }
    if count == 6 { beats.cancel() }
}
