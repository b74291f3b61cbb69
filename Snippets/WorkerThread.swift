// A thread that lives as long as its timers: it ends when the last timer is invalidated.
import HRTimer

let end = MonotonicInstant.now.advanced(by: .milliseconds(250))
let worker = try LoopWorker(name: "poller") { loop in
    let timer = LoopTimer(timeInterval: .milliseconds(50), repeats: true) { timer in
        print("poll at", loop.now)
        if loop.now >= end { timer.invalidate() }
    }
    loop.add(timer, forMode: .default)
}
worker.wait()
print("finished:", worker.isFinished)
