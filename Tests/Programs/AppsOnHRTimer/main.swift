import Foundation

import class HRTimerCompat.RunLoop

// Runs seven files of apps, one after the other, on the main thread's loop, and prints what each did.
setvbuf(stdout, nil, _IOLBF, 0)

/// Runs the main loop until the condition holds, for ten seconds at most.
func run(_ name: String, until isDone: () -> Bool) {
    let limit = Date(timeIntervalSinceNow: 10)
    while !isDone(), Date() < limit { _ = RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01)) }
    if !isDone() { print("\(name): not done") }
}

final class Log: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []
    func add(_ line: String) { lock.withLock { lines.append(line) } }
    var all: [String] { lock.withLock { lines } }
}

func show(_ name: String, _ log: Log) { print("\(name): \(log.all.joined(separator: ", "))") }

do {
    let log = Log()
    let countdown = Countdown(from: 4) { log.add("\($0)") }
    countdown.start()
    countdown.start()
    run("countdown") { countdown.remaining == 2 }
    countdown.pause()
    run("countdown") { true }
    RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.08))
    log.add("paused at \(countdown.remaining)")
    countdown.resume()
    run("countdown") { countdown.remaining == 0 }
    RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.05))
    show("countdown", log)
}
do {
    let log = Log()
    let carousel = Carousel(pages: 3)
    carousel.onPage = { log.add("\($0)") }
    carousel.begin()
    run("carousel") { log.all.count == 4 }
    carousel.willBeginDragging()
    log.add("resting: \(carousel.isResting)")
    RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.06))
    carousel.didEndDragging()
    run("carousel") { log.all.count == 6 }
    carousel.willBeginDragging()
    show("carousel", log)
}
do {
    let log = Log()
    let hud = DownloadHUD(log: log.add)
    hud.begin()
    run("download") { log.all.last == "hidden" }
    show("download", log)
}
do {
    let log = Log()
    let poller = Poller(
        every: .milliseconds(10),
        onPoll: { if $0 <= 3 { log.add("\($0)") } },
        onEnd: { log.add("end") }
    )
    poller.resume()
    run("poller") { log.all.count == 3 }
    poller.suspend()
    poller.resume()
    poller.slowDown()
    poller.stop()
    run("poller") { log.all.last == "end" }
    show("poller", log)
}
do {
    let log = Log()
    let refresh = BackgroundRefresh { log.add("\($0) refreshes") }
    refresh.start()
    run("refresh") { log.all.count == 1 }
    show("refresh", log)
}
MainActor.assumeIsolated {
    let log = Log()
    let model = ViewModel(log: log.add)
    model.appear()
    for text in ["s", "sw", "swift"] { model.type(text) }
    run("model") { log.all.count == 5 }
    print("model: \(log.all.sorted().joined(separator: ", ")), \(model.status), \(model.elapsed)")
}
#if canImport(HRTimerCompat)
MainActor.assumeIsolated {
    let log = Log()
    let label = FrameLabel(onText: log.add)
    label.start()
    run("label") { log.all.count == 1 }
    show("label", log)
}
#endif
MainActor.assumeIsolated {
    let log = Log()
    let handlers = Handlers { log.add($0) }
    do { try handlers.start() } catch { print("handlers: \(error)") }
    run("handlers") { log.all.count == 11 }
    handlers.end()
    print("handlers: \(log.all.sorted().joined(separator: ", "))")
}
