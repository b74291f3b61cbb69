// A progress bar in a terminal. The work reports its progress as often as it likes; the bar is drawn once per frame.
import HRTimer

let loop = TimerLoop.main
let bar = FrameCoalescer<Double>(source: VsyncSource(frameRate: FrameRate(30)), loop: loop) { progress in
    let done = Int(progress * 40)
    let cells = String(repeating: "█", count: done) + String(repeating: "░", count: 40 - done)
    print("\r\(cells) \(Int(progress * 100)) %", terminator: progress < 1 ? "" : "\n")
    if progress == 1 { loop.stop() }
}
try LoopWorker(name: "work") { worker in
    let begin = worker.now
    let work = LoopTimer(timeInterval: .microseconds(200), repeats: true) { timer in
        let progress = min(1, begin.duration(to: worker.now) / .seconds(1))
        bar.update(progress)
        if progress == 1 {
            timer.invalidate()
            bar.finish()
        }
    }
    worker.add(work, forMode: .default)
}
loop.run()
