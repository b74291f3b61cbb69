import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer

/// Tests of what a link's calls report, depending on when its loop makes them. On frozen time, without a running loop.
@Suite struct LinkCallTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start_ns: Int64
    let seen = Recorder<MonotonicInstant>()
    let link: DisplayLink

    init() {
        loop = TimerLoop(time: time.base)
        start_ns = time.now.nanoseconds
        link = DisplayLink(framesPerSecond: 100) { [seen] link in seen.append(link.timestamp) }
        link.add(to: loop, forMode: .default)
    }

    private func ns(_ milliseconds: Double) -> Int64 { start_ns + Int64(milliseconds * 1e6) }
    private func at(_ milliseconds: Double) -> MonotonicInstant { .init(nanoseconds: ns(milliseconds)) }

    /// Advances to that time and calls the link as its loop does.
    private func fire(_ milliseconds: Double) {
        time.advance(to: at(milliseconds))
        link.fire(ns(milliseconds))
    }

    @Test("A call in time is for its own refresh, and its lateness counts from that refresh")
    func inTime() {
        for milliseconds in [10.0, 20.004, 30.5] { fire(milliseconds) }
        #expect(seen.all == [at(10), at(20), at(30)])
        #expect(link.timestamp == at(30))
        #expect(link.targetTimestamp == at(40))
        #expect(link.delta == .milliseconds(10))
        #expect(link.rawDelta == .microseconds(10_496))
        #expect(link.droppedFrames == 0)
        #expect(link.statistics.fires == 3)
        #expect(link.latestLateness == .microseconds(500))
        #expect(link.lateness.sum == .microseconds(504))
        #expect(link.lateness.count == 3)
        link.invalidate()
    }

    @Test("A call begun after the following refresh is for the latest one, and those before are dropped")
    func tooLate() {
        fire(35)
        #expect(seen.all == [at(30)])
        #expect(link.droppedFrames == 2)
        #expect(link.latestLateness == .milliseconds(25))
        link.invalidate()
    }

    @Test("A paused or invalid link is not called, even if its loop has begun the call")
    func notCalled() {
        link.isPaused = true
        fire(10)
        link.isPaused = false
        link.invalidate()
        fire(20)
        #expect(seen.all == [])
    }

    @Test("A link that is changed between its refresh and its call is late for that refresh, not early for the next")
    func rescheduled() {
        let now_ns = ns(10) + 100
        time.advance(to: .init(nanoseconds: now_ns))
        link.preferredFramesPerSecond = 100
        link.fire(now_ns)
        #expect(seen.all == [at(10)])
        #expect(link.latestLateness == .nanoseconds(100))
        link.invalidate()
    }
}
