// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport
import TestTraits
import Testing

@testable import HRTimer

@Suite struct FrameMeterTests {
    let time = ManualTime()
    let loop: TimerLoop

    init() {
        loop = TimerLoop(time: time.base)
    }

    private func run(_ milliseconds: Int) { loop.run(until: time.now.advanced(by: .milliseconds(milliseconds))) }

    @Test("Frames are counted over a whole second before a rate is reported")
    func counted() {
        let meter = FrameRateMeter()
        let link = DisplayLink(framesPerSecond: 50) { meter.note($0) }
        link.add(to: loop, forMode: .default)
        run(1000)
        #expect(meter.framesPerSecond == nil)
        #expect(meter.text == "– FPS")
        run(20)
        #expect(meter.framesPerSecond == 50)
        #expect(meter.text == "50 FPS")
        link.frameInterval = 2
        run(2100)
        #expect(meter.framesPerSecond == 25)
        #expect(meter.frameTimes.count == 50 + 53)
        #expect(meter.frameTimes.max == .milliseconds(40))
        link.invalidate()
    }

    @Test("The smoothed rate follows a change, and is between the former and the new rate meanwhile")
    func smoothed() {
        let meter = FrameRateMeter()
        var now = MonotonicInstant(nanoseconds: 0)
        for _ in 0..<100 {
            now = now.advanced(by: .milliseconds(10))
            meter.note(at: now)
        }
        #expect(abs((meter.smoothedFramesPerSecond ?? 0) - 100) < 1e-6)
        var before = 100.0
        for _ in 0..<40 {
            now = now.advanced(by: .milliseconds(20))
            meter.note(at: now)
            let smoothed = meter.smoothedFramesPerSecond ?? 0
            #expect(smoothed < before && smoothed > 50)
            before = smoothed
        }
        #expect(before < 51)
    }

    @Test("Dropped frames count from the meter's first note; instants that do not rise do not count")
    func dropped() {
        let meter = FrameRateMeter()
        let isNoted = Recorder<Bool>()
        let link = DisplayLink(framesPerSecond: 100) { link in if isNoted.count > 0 { meter.note(link) } }
        link.add(to: loop, forMode: .default)
        run(20)
        time.advance(by: .milliseconds(50))
        run(20)
        #expect(link.droppedFrames > 0)
        isNoted.append(true)
        run(20)
        #expect(meter.droppedFrames == 0)
        time.advance(by: .milliseconds(50))
        run(20)
        #expect(meter.droppedFrames == 4)
        let count = meter.frameTimes.count
        meter.note(at: link.timestamp)
        meter.note(at: MonotonicInstant(nanoseconds: .min))
        #expect(meter.frameTimes.count == count)
        link.invalidate()
    }

    @Test(
        "Time in which a link has no calls by intent is no slow frame: paused, in no loop, or with a hidden surface"
    )
    func breaks() throws {
        let meter = FrameRateMeter()
        let display = try FakeDisplay(100, time, loop)
        display.commits = .application
        let source = display.source()
        source.whenHidden = .stop
        let link = DisplayLink(source: source) { link in
            meter.note(link)
            source.willCommit()
        }
        link.add(to: loop, forMode: .default)
        run(5000)
        let learnt = meter.frameTimes.max ?? .zero
        let breaks: [(FrameRateMeterBreak) -> Void] = [
            { step in link.isPaused = step == .begin },
            { step in
                if step == .begin {
                    link.remove(from: loop, forMode: .default)
                } else {
                    link.add(to: loop, forMode: .default)
                }
            },
            { step in if step == .begin { display.mood = .silent } else { display.show() } },
        ]
        for act in breaks {
            act(.begin)
            run(10_000)
            time.advance(by: .milliseconds(3))
            act(.end)
            for _ in 0..<30 {
                run(100)
                #expect(meter.framesPerSecond.map { (99...101).contains($0) } == true)
                #expect(meter.smoothedFramesPerSecond.map { (95...105).contains($0) } == true)
            }
            // One refresh may be slewed.
            #expect(meter.frameTimes.max.map { $0 <= learnt + .milliseconds(2) } == true)
        }
        #expect(meter.droppedFrames == 0)
        link.invalidate()
    }

    @Test("notePause() marks a pause between frames that are noted by their instants")
    func notedPause() {
        let meter = FrameRateMeter()
        for second in 0..<4 {
            for frame in 0..<40 {
                meter.note(at: MonotonicInstant(nanoseconds: Int64(second * 1000 + frame * 20) * 1_000_000))
            }
            meter.notePause()
        }
        #expect(meter.framesPerSecond == 50)
        #expect(meter.frameTimes.max == .milliseconds(20))
    }

    private enum FrameRateMeterBreak { case begin, end }

    @Test(
        "Frames are counted though each part between pauses is shorter than a window; a pause without a refresh is none"
    )
    func shortBreaks() {
        let meter = FrameRateMeter()
        let link = DisplayLink(framesPerSecond: 100) { meter.note($0) }
        link.add(to: loop, forMode: .default)
        for _ in 0..<10 {
            run(300)
            link.isPaused = true
            time.advance(by: .milliseconds(777))
            link.isPaused = false
        }
        #expect(meter.framesPerSecond == 100)
        // Each part counts the steps between its frames; its first frame is no step.
        let count = meter.frameTimes.count
        #expect(count == 10 * 29)
        run(20)
        link.isPaused = true
        time.advance(by: .milliseconds(2))
        link.isPaused = false
        run(20)
        #expect(meter.frameTimes.count == count + 3)
        #expect(meter.frameTimes.max == .milliseconds(10))
        link.invalidate()
    }

    @Test(
        "The label is green at the maximum rate, and red at a fifth of it",
        arguments: [(60, 0.216), (30, 0.081), (12, 0), (1, 0), (1000, 0.216)]
    )
    func hue(_ rate: Int, _ hue: Double) {
        let meter = FrameRateMeter(maximum: 60)
        for frame in 0...(2 * rate) {
            meter.note(at: MonotonicInstant(nanoseconds: Int64(frame) * 1_000_000_000 / Int64(rate)))
        }
        #expect(meter.text == "\(rate) FPS")
        #expect(abs(meter.hue - hue) < 0.001)
        #expect(meter.ansiText.contains(meter.text))
        #expect(meter.ansiText.hasPrefix("\u{1b}[38;2;230;") || rate > 30)
    }

    @Test("A coalescer delivers at most one update a frame, the latest, and nothing without a new one")
    func coalesced() {
        let reported = Recorder<Int>()
        let coalescer = FrameCoalescer<Int>(source: VsyncSource(frameRate: FrameRate(100)), loop: loop) {
            reported.append($0)
        }
        run(100)
        #expect(reported.all == [])
        for value in 0..<1000 { coalescer.update(value) }
        run(15)
        #expect(reported.all == [999])
        run(100)
        // No deadline is left, so that there are no needless wake-ups.
        #expect(coalescer.isIdle)
        coalescer.update(1000)
        run(10)
        coalescer.update(1001)
        run(10)
        #expect(reported.all == [999, 1000, 1001])
        coalescer.update(1002)
        coalescer.finish()
        coalescer.update(1003)
        run(100)
        #expect(reported.all == [999, 1000, 1001, 1002])
        #expect(loop.liveTimers == 0)
    }

    @Test("A loop holds a coalescer until it ends; then nothing holds it or the last update that it delivered")
    func ends() {
        let canaries = Canaries()
        for ending in 0..<3 {
            let canary = canaries.make()
            let coalescer = FrameCoalescer<any AnyObject & Sendable>(
                source: VsyncSource(frameRate: FrameRate(100)),
                loop: loop
            ) { _ in withExtendedLifetime(canary) {} }
            coalescer.update(canaries.make())
            if ending == 0 { coalescer.invalidate() }
            if ending == 1 { coalescer.finish() }
            run(30)
            if ending == 2 { coalescer.finish() }
        }
        #expect(canaries.count == 0)
        #expect(loop.liveTimers == 0)
    }

    @Test("A coalescer is released when its loop ends, or if the loop has already ended")
    func loopEnds() {
        let canaries = Canaries()
        for endsFirst in [false, true] {
            let loop = TimerLoop(time: time.base)
            if endsFirst { loop.end() }
            let canary = canaries.make()
            let coalescer = FrameCoalescer<any AnyObject & Sendable>(
                source: VsyncSource(frameRate: FrameRate(100)),
                loop: loop
            ) { _ in withExtendedLifetime(canary) {} }
            coalescer.update(canaries.make())
            loop.end()
        }
        #expect(canaries.count == 0)
    }

    @Test("The last of many updates from another thread is always delivered", .hangLimit)
    func threads() throws {
        let loop = TimerLoop()
        let reported = Recorder<Int>()
        let coalescer = FrameCoalescer<Int>(source: VsyncSource(frameRate: FrameRate(2000)), loop: loop) {
            reported.append($0)
        }
        try LoopWorker(name: "updates") { worker in
            for round in 1...200 {
                let timer = LoopTimer(timeInterval: .microseconds(round * 7), repeats: false) { _ in
                    coalescer.update(round)
                    if round == 200 { coalescer.finish() }
                }
                worker.add(timer, forMode: .default)
            }
        }
        loop.run()
        #expect(reported.all.last == 200)
        #expect(reported.all == reported.all.sorted())
    }
}
