// Loops inside Foundation's RunLoop, which on Linux watches descriptors only for Dispatch. The main thread's loop is served by
// the main queue, which RunLoop.main serves; another thread's loop by a source of its run loop.
import Foundation
import HRTimer

func tick(on loop: TimerLoop, _ name: String) {
    let isMain = Thread.isMainThread
    let timer = LoopTimer(timeInterval: .milliseconds(10), repeats: true) { timer in
        precondition(Thread.isMainThread == isMain)
        print(name, "late by", .now - timer.fireInstant)
    }
    loop.add(timer, forMode: .default)
}

let worker = Thread {
    do {
        let host = try TimerLoop.current.serveOnCurrentRunLoop()
        tick(on: .current, "worker")
        RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.055))
        host.cancel()
    } catch {
        print(error)
    }
}
worker.start()

let host = try TimerLoop.main.serve(on: .main)
tick(on: .main, "main")
RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.08))
host.cancel()
