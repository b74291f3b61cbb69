// Shows the frames per second on the display that was found, as a label would, for three seconds.
import HRTimer

let loop = TimerLoop.main
let meter = FrameRateMeter()
let link = DisplayLink { link in
    meter.note(link)
    if link.statistics.fires % 30 == 0 { print(meter.ansiText) }
}
link.add(to: loop, forMode: .default)
if let source = link.source {
    print("refreshes of: \(source.kind.rawValue)")
    for refusal in source.refusals { print("not of \(refusal)") }
}
loop.run(until: loop.now.advanced(by: .seconds(3)))
link.invalidate()
if let median = meter.frameTimes.quantile(0.5) { print("median frame: \(median), dropped: \(meter.droppedFrames)") }
