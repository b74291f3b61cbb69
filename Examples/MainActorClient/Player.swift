// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import HRTimer

/// A view model on the main actor that uses each kind of timer, with no isolation annotation other than `@MainActor`.
@MainActor final class Player {
    private(set) var seconds = 0
    private(set) var frames = 0
    private var timers: Set<LoopTimer> = []
    private var link: DisplayLink?
    private var source: TimerSource?
    private var input: LoopSource?
    private var ends: [Int32] = [0, 0]
    private let history = History()
    private let onEnd: () -> Void

    /// Not Sendable, like most types of a program.
    private final class History { var lines: [String] = [] }

    init(onEnd: @escaping () -> Void) {
        self.onEnd = onEnd
    }

    func play() {
        // A method, which is called on the main actor, whatever loop the timer is in.
        let clock = LoopTimer(timeInterval: .milliseconds(10), weakTarget: self, action: Player.tick, repeats: true)
        TimerLoop.main.add(clock, forMode: .common)
        timers.insert(clock)
        // Closures, which are isolated to the main actor like this function.
        let title = LoopTimer(timeInterval: .milliseconds(5), repeats: false) { _ in self.note("title") }
        TimerLoop.main.add(title, forMode: .common)
        let slides = LoopTimer.rearmable(fireAt: .now) { [weak self] slides in
            self?.note("next slide")
            slides.invalidate()
        }
        TimerLoop.main.add(slides, forMode: .default)
        // A block that stays on this thread, and so may use all that this function may use.
        LoopTimer.scheduledHere(timeInterval: .milliseconds(7), repeats: true) { [weak self, history] timer in
            history.lines.append("sample")
            if self?.frames ?? 9 >= 3 { timer.invalidate() }
        }
        let link = DisplayLink(framesPerSecond: 100, weakTarget: self, action: Player.draw)
        link.add(to: .main, forMode: .common)
        self.link = link
        let preview = DisplayLink(framesPerSecond: 100) { [weak self] link in
            self?.note("previewed")
            link.invalidate()
        }
        preview.add(to: .main, forMode: .common)
        let bar = FrameCoalescer<Double>(loop: .main) { [weak self] progress in self?.note("at \(progress)") }
        bar.update(0.5)
        bar.update(1)
        bar.finish()
        watch()
        // What goes to another thread or queue by itself names its actor.
        let source = TimerSource(queue: .main)
        source.setEventHandler { @MainActor [weak self] in self?.note("saved \(source.data)") }
        source.schedule(deadline: MonotonicInstant.now + .milliseconds(20))
        source.activate()
        self.source = source
        TimerLoop.main.perform { @MainActor in self.note("begun") }
        TimerLoop.main.perform(afterDelay: .milliseconds(3)) { @MainActor in self.rest() }
    }

    /// Adds what a loop calls beside timers: a trigger, an observer and a source.
    private func watch() {
        let mailbox = LoopTrigger { [weak self] trigger in
            self?.note("mail")
            trigger.invalidate()
        }
        TimerLoop.main.add(mailbox, forMode: .common)
        mailbox.signal()
        let observer = LoopObserver(activities: .beforeWaiting, repeats: false) { [weak self] _, _ in self?.note("idle")
        }
        TimerLoop.main.add(observer, forMode: .common)
        guard pipe(&ends) == 0 else { return }
        input = try? LoopSource(descriptor: ends[0]) { [weak self] source, _ in
            self?.note("read")
            source.invalidate()
        }
        if let input { try? TimerLoop.main.add(input, forMode: .common) }
        write(ends[1], "x", 1)
    }

    private func tick(_ timer: LoopTimer) {
        seconds += 1
        if seconds == 8 { end() }
    }

    private func draw(_ link: DisplayLink) {
        frames += 1
        if frames == 3 { link.invalidate() }
    }

    private func rest() { note("rested") }

    private func note(_ line: String) { history.lines.append(line) }

    private func end() {
        for timer in timers { timer.invalidate() }
        for end in ends { close(end) }
        source?.cancel()
        let sampled = history.lines.contains("sample")
        print(history.lines.filter { $0 != "sample" }.sorted().joined(separator: ", "), "and samples:", sampled)
        onEnd()
    }
}

/// Uses the asynchronous variants of functions that block.
func tidyUp() async throws {
    let engine = try TimerEngine()
    let wall = try WallTimerEngine()
    let token = engine.schedule(after: .seconds(1)) { fire in print(fire.missedTicks) }
    await engine.cancelAndWait(token)
    print("granted:", await engine.awaitSettingResults().map(\.description).joined(separator: ", "))
    await engine.shutdown()
    await wall.shutdown()
    let worker = try TimerLoop.thread(name: "client")
    worker.loop.perform { print("on a thread") }
    // Makes sure that the block is performed before the thread ends.
    while await worker.loop.isIdle() == false {}
    await worker.shutdown()
}

extension TimerLoop {
    /// Returns true once the loop has performed the blocks that were waiting.
    fileprivate func isIdle() async -> Bool {
        await withCheckedContinuation { continuation in perform { continuation.resume(returning: true) } }
    }
}
