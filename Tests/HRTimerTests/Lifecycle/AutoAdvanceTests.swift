import HRTimer
import HRTimerTesting
import TestSupport
import Testing

@Suite struct AutoAdvanceTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    /// When pages were turned, in ms since the start.
    let pages = Recorder<Int>()

    init() {
        loop = TimerLoop(time: time.base)
        loop.isKeptAlive = true
        start = time.now
    }

    private func at(_ ms: Int) -> MonotonicInstant { start.advanced(by: .milliseconds(ms)) }

    private func makeCarousel() -> AutoAdvance {
        AutoAdvance(every: .seconds(3), loop: loop) { [pages, time, start] in
            pages.append(Int((time.now.nanoseconds - start.nanoseconds) / 1_000_000))
        }
    }

    /// Lets the user drag between two times in ms since the start, in a nested run as a view does it.
    private func drag(from begin: Int, to end: Int) {
        let drag = LoopTimer(fireAt: at(begin), interval: .zero, repeats: false) { [loop, start] _ in
            loop.run(mode: .eventTracking, before: start.advanced(by: .milliseconds(end)))
        }
        loop.add(drag, forMode: .default)
    }

    @Test("Without tracking, a page is turned every interval")
    func quiet() {
        let carousel = makeCarousel()
        loop.run(until: at(9999))
        #expect(pages.all == [3000, 6000, 9000])
        carousel.invalidate()
    }

    @Test("A carousel rests while the user drags and continues 2 s later, without catching up on missed pages")
    func tracking() {
        let carousel = makeCarousel()
        drag(from: 4000, to: 20_500)
        loop.run(until: at(3999))
        #expect(!carousel.isResting)
        loop.run(until: at(26_000))
        #expect(pages.all == [3000, 22_500, 25_500])
        carousel.invalidate()
    }

    @Test("Drags that follow each other within 2 s count as one")
    func drags() {
        let carousel = makeCarousel()
        for begin in stride(from: 1000, through: 9000, by: 2000) { drag(from: begin, to: begin + 500) }
        loop.run(until: at(15_000))
        #expect(pages.all == [11_500, 14_500])
        carousel.invalidate()
    }

    @Test("A drag that begins in the pass in which a page is due keeps that page from being turned")
    func dueTogether() {
        // Made before the carousel, so that it fires first.
        drag(from: 3000, to: 4000)
        let carousel = makeCarousel()
        loop.run(until: at(7000))
        #expect(pages.all == [6000])
        carousel.invalidate()
    }

    @Test("rest() and resume() have the effect of tracking")
    func byHand() {
        let carousel = makeCarousel()
        loop.run(until: at(1000))
        carousel.rest()
        #expect(carousel.isResting)
        loop.run(until: at(10_000))
        #expect(pages.count == 0)
        carousel.resume()
        #expect(!carousel.isResting)
        loop.run(until: at(15_000))
        #expect(pages.all == [12_000, 15_000])
        carousel.invalidate()
    }

    @Test("A carousel ends with its last reference, and its handler is freed")
    func freed() {
        let canaries = Canaries()
        do {
            let canary = canaries.make()
            let carousel = AutoAdvance(every: .seconds(1), loop: loop) { withExtendedLifetime(canary) {} }
            #expect(loop.liveTimers == 1)
            _ = carousel
        }
        #expect(canaries.count == 0)
        #expect(loop.liveTimers == 0)
    }
}
