// SPDX-License-Identifier: Apache-2.0
import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests of what `CADisplayLink` documents, on a virtual display and frozen time.
@Suite struct DisplayLinkTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    /// The numbers of the refreshes that had calls, counted from the start.
    let frames = Recorder<Int>()

    init() {
        loop = TimerLoop(time: time.base)
        start = time.now
    }

    private func at(_ seconds: Double) -> MonotonicInstant {
        start.advanced(by: .nanoseconds(Int64((seconds * 1e9).rounded())))
    }

    private func frame(_ instant: MonotonicInstant, _ rate: Double) -> Int {
        Int((Double(instant.nanoseconds - start.nanoseconds) / 1e9 * rate).rounded())
    }

    private func link(
        _ rate: Double,
        then block: @escaping DisplayLink.Handler = { _ in }
    ) -> DisplayLink {
        let link = DisplayLink(framesPerSecond: rate) { [frames, self] link in
            frames.append(frame(link.timestamp, link.maximumFramesPerSecond))
            block(link)
        }
        link.add(to: loop, forMode: .default)
        return link
    }

    @Test("A link has one call a refresh, and the first one comes one refresh after it was added")
    func everyRefresh() {
        let link = link(100)
        loop.run(until: at(0.05))
        #expect(frames.all == [1, 2, 3, 4, 5])
        #expect(link.timestamp == at(0.05))
        #expect(link.targetTimestamp == at(0.06))
        #expect(link.duration == .milliseconds(10))
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }

    @Test("At 60 Hz a day has 5,184,000 refreshes, and the last is as exact as the first")
    func grid() {
        let link = link(60)
        loop.run(until: at(1.0 / 60 + 0.001))
        time.advance(by: .seconds(86_399))
        #expect(frames.count == 1)
        loop.run(until: at(86_400))
        #expect(link.timestamp == at(86_400))
        link.invalidate()
    }

    @Test("A handler longer than a refresh drops refreshes, which are counted, and is called at the next one")
    func slowHandler() {
        let link = link(100) { [time, frames] _ in
            if frames.count == 2 { time.advance(by: .milliseconds(25)) }
        }
        loop.run(until: at(0.06))
        #expect(frames.all == [1, 2, 5, 6])
        #expect(link.droppedFrames == 2)
        link.invalidate()
    }

    @Test("A loop that was kept busy makes one late call, for the latest refresh")
    func lateLoop() {
        let link = link(100)
        time.advance(by: .milliseconds(34))
        loop.run(until: at(0.05))
        #expect(frames.all == [3, 4, 5])
        #expect(link.droppedFrames == 2)
        link.invalidate()
    }

    @Test("After a pause calls go on at the next refresh, without a catch-up and without dropped frames")
    func pause() {
        let link = link(100)
        loop.run(until: at(0.02))
        link.isPaused = true
        loop.run(until: at(0.055))
        link.isPaused = false
        loop.run(until: at(0.07))
        #expect(frames.all == [1, 2, 6, 7])
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }

    @Test("A link that two threads pause and resume at once goes on if it is not paused in the end")
    func pausedByTwo() {
        let link = link(100)
        for round in 0..<500 {
            DispatchQueue.concurrentPerform(iterations: 2) { thread in
                for step in 0..<40 { link.isPaused = (thread + step) % 2 == 0 }
            }
            let before = frames.count
            let isPaused = link.isPaused
            loop.run(until: time.now.advanced(by: .milliseconds(20)))
            if (frames.count > before) == isPaused {
                Issue.record("in round \(round), \(isPaused ? "paused" : "not paused"): \(frames.count - before) calls")
                break
            }
        }
        link.invalidate()
    }

    @Test("A preferred rate divides the refreshes evenly; duration stays that of the display")
    func preferred() {
        let link = link(60)
        link.preferredFramesPerSecond = 20
        loop.run(until: at(0.2))
        #expect(frames.all == [3, 6, 9, 12])
        #expect(link.actualFramesPerSecond == 20)
        #expect(link.duration == .nanoseconds(16_666_667))
        #expect(link.targetTimestamp == at(0.25))
        link.invalidate()
    }

    @Test(
        "A link uses the divided rate nearest to the preferred one, and of two equally near ones the slower",
        arguments: [
            (60, 50, 60), (60, 45, 30), (60, 40, 30), (60, 25, 20), (60, 24, 20), (59.94, 45, 29.97),
            (59.94, 60, 59.94),
            (120, 50, 40), (120, 48, 40), (144, 60, 48), (144, 30, 28.8), (144, 24, 24), (165, 60, 55), (75, 50, 37.5),
            (60, 0, 60), (60, -1, 60), (60, .nan, 60), (60, .infinity, 60), (60, 1000, 60), (60, 0.5, 0.5),
        ] as [(Double, Double, Double)]
    )
    func divisors(_ rate: Double, _ wish: Double, _ expected: Double) {
        let link = DisplayLink(framesPerSecond: rate) { _ in }
        link.preferredFramesPerSecond = wish
        #expect(abs(link.actualFramesPerSecond - expected) < 1e-9)
    }

    @Test("A rate is read from a text: a number, also below 1, or a ratio of two whole numbers; nothing else is one")
    func rateFromText() {
        #expect(FrameRate("60") == FrameRate(60))
        #expect(FrameRate("59.94") == FrameRate(59.94))
        #expect(FrameRate("0.5") == FrameRate(1, 2))
        #expect(FrameRate("60000/1001") == FrameRate(60_000, 1001))
        for text in ["", "0", "-1", "nan", "0/1", "1/0", "-60/1", "60/1/1", "60//1", "60/", "1.5/2", "sixty"] {
            #expect(FrameRate(text) == nil, "\(text)")
        }
    }

    @Test(
        "Any rate is safe: a rate that makes no sense is 60, and there are bounds",
        arguments: [
            (0, 60), (-1, 60), (.nan, 60), (-.infinity, 60), (.infinity, 10_000), (1e300, 10_000), (1e-300, 0.001),
            (59.94, 59.94),
        ] as [(Double, Double)]
    )
    func anyRate(_ rate: Double, _ expected: Double) {
        let link = link(rate)
        #expect(link.maximumFramesPerSecond == expected)
        link.preferredFramesPerSecond = 1e-300
        link.preferredFramesPerSecond = 0
        loop.run(until: at(0.1))
        #expect(frames.count == Int(expected / 10))
        link.invalidate()
    }

    @Test("Equal rates are equal in every spelling, as fractions in lowest terms")
    func equalRates() {
        #expect(FrameRate(60) == FrameRate(60, 1))
        #expect(FrameRate(120_000, 2002) == FrameRate(60_000, 1001))
        #expect(FrameRate(59.94) == FrameRate(2997, 50))
        #expect(FrameRate(60_000, 1001) != FrameRate(59.94))
        #expect(FrameRate(2_000_003, 1_000_001) == FrameRate(2_000_003.0 / 1_000_001), "a denominator above a million")
        #expect(Set([FrameRate(0), FrameRate(-1), .standard, FrameRate(60.0), FrameRate(600, 10)]).count == 1)
        let rate = FrameRate(0.001)
        #expect(rate.numerator == 1 && rate.denominator == 1000)
    }

    @Test("invalidate() in the handler ends the link, and frees what the handler captured")
    func invalidate() {
        let canaries = Canaries()
        do {
            let canary = canaries.make()
            _ = link(100) { link in
                link.invalidate()
                withExtendedLifetime(canary) {}
            }
        }
        loop.run(until: at(1))
        #expect(frames.all == [1])
        #expect(canaries.count == 0)
        #expect(loop.liveTimers == 0)
    }

    @Test("A link removed from its last mode leaves the loop, and may be added again")
    func remove() {
        let link = link(100)
        link.add(to: loop, forMode: .eventTracking)
        link.remove(from: loop, forMode: .default)
        #expect(loop.liveTimers == 1)
        loop.run(until: at(0.02))
        #expect(frames.all == [])
        link.remove(from: loop, forMode: .eventTracking)
        #expect(loop.liveTimers == 0)
        link.add(to: loop, forMode: .default)
        time.advance(to: at(0.02))
        loop.run(until: at(0.03))
        #expect(frames.all == [2, 3])
        link.invalidate()
    }

    final class Screen: Sendable {
        let drawn = Recorder<Double>()
        func draw(_ link: DisplayLink) { drawn.append(link.maximumFramesPerSecond) }
    }

    @Test("A block's target is held until the link is invalid; a weak target is not, and the link ends with it")
    func targets() {
        var strong: Screen? = Screen()
        weak let held = strong
        let link = DisplayLink(framesPerSecond: 100) { [strong] link in strong?.draw(link) }
        link.add(to: loop, forMode: .default)
        strong = nil
        loop.run(until: at(0.02))
        #expect(held?.drawn.count == 2)
        link.invalidate()
        #expect(held == nil)

        var target: Screen? = Screen()
        let weakly = DisplayLink(framesPerSecond: 100, weakTarget: target!, action: Screen.draw)
        weakly.add(to: loop, forMode: .default)
        loop.run(until: at(0.04))
        #expect(target?.drawn.count == 2)
        target = nil
        loop.run(until: at(0.1))
        #expect(!weakly.isValid)
        #expect(loop.liveTimers == 0)
    }

    @Test("Links that have neither a rate nor a source share one display")
    func targetOfTheDisplay() {
        let screen = Screen()
        let links = [DisplayLink { screen.draw($0) }, DisplayLink(weakTarget: screen, action: Screen.draw)]
        for link in links { link.add(to: loop, forMode: .default) }
        // On virtual time that is a virtual display of 60 Hz.
        #expect(links[0].source === links[1].source)
        loop.run(until: at(1))
        #expect(screen.drawn.all == Array(repeating: 60, count: 120))
        for link in links { link.invalidate() }
    }
}
