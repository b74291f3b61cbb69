import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer

/// A link's calls that are prepared before their refresh, as the thread of a precise loop does it; on frozen time, without a
/// loop that runs.
@Suite struct LinkCallTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start_ns: Int64
    let seen = Recorder<MonotonicInstant>()
    let link: DisplayLink
    let call: LinkCall

    init() throws {
        loop = TimerLoop(time: time.base)
        start_ns = time.now.nanoseconds
        link = DisplayLink(framesPerSecond: 100) { [seen] link in seen.append(link.timestamp) }
        link.add(to: loop, forMode: .default)
        call = try #require(link.state.withLock { $0.call })
    }

    private func ns(_ milliseconds: Double) -> Int64 { start_ns + Int64(milliseconds * 1e6) }
    private func at(_ milliseconds: Double) -> MonotonicInstant { .init(nanoseconds: ns(milliseconds)) }

    /// The loop's call, at that time.
    private func fire(_ milliseconds: Double) {
        time.advance(to: at(milliseconds))
        call.called_ns = ns(milliseconds)
        call.fire()
    }

    @Test("Made up and begun in time, a call tells what one does that was not made up", arguments: [true, false])
    func same(isMadeUp: Bool) {
        for milliseconds in [10.0, 20.004, 30.5] {
            if isMadeUp { call.prepare() }
            fire(milliseconds)
        }
        #expect(seen.all == [at(10), at(20), at(30)])
        #expect(link.timestamp == at(30))
        #expect(link.targetTimestamp == at(40))
        #expect(link.delta == .milliseconds(10))
        #expect(link.rawDelta == .microseconds(10_496))
        #expect(link.droppedFrames == 0)
        let statistics = link.statistics
        #expect(statistics.calls == 3)
        #expect(statistics.lateness == .microseconds(500))
        #expect(statistics.totalLateness == .microseconds(504))
        #expect(link.lateness.count == 3)
        link.invalidate()
    }

    @Test("Made up, a call tells nothing before it begins, and nothing if it is called off")
    func calledOff() {
        fire(10)
        call.prepare()
        #expect(link.timestamp == at(10))
        #expect(link.statistics.calls == 1)
        call.withdraw()
        #expect(link.timestamp == at(10))
        fire(20.001)
        #expect(seen.all == [at(10), at(20)])
        #expect(link.statistics.totalLateness == .microseconds(1))
        link.invalidate()
    }

    @Test(
        "Made up, but begun after the refresh that follows, a call is for the latest one, and those before are dropped"
    )
    func tooLate() {
        call.prepare()
        fire(35)
        #expect(seen.all == [at(30)])
        #expect(link.droppedFrames == 2)
        #expect(link.statistics.lateness == .milliseconds(25))
        link.invalidate()
    }

    @Test("Of a link that is paused or invalid no call is made up")
    func notMadeUp() {
        link.isPaused = true
        call.prepare()
        fire(10)
        link.isPaused = false
        link.invalidate()
        call.prepare()
        fire(20)
        #expect(seen.all == [])
    }

    @Test(
        "Invalidated between the making up and the refresh, a link's handler is freed when its loop calls the call off"
    )
    func freed() throws {
        final class Captured: Sendable {}
        var captured: Captured? = Captured()
        let link = DisplayLink(framesPerSecond: 100) { [captured] _ in withExtendedLifetime(captured) {} }
        weak let isCaptured = captured
        captured = nil
        link.add(to: loop, forMode: .default)
        let call = try #require(link.state.withLock { $0.call })
        call.prepare()
        link.invalidate()
        #expect(isCaptured != nil)
        call.withdraw()
        #expect(isCaptured == nil)
    }

    @Test("Set anew between its refresh and its call, a link is late from that refresh on, not early for the next")
    func setAnew() {
        let now_ns = ns(10) + 100
        time.advance(to: .init(nanoseconds: now_ns))
        link.preferredFramesPerSecond = 100
        call.called_ns = now_ns
        call.fire()
        #expect(seen.all == [at(10)])
        #expect(link.statistics.lateness == .nanoseconds(100))
        link.invalidate()
    }
}
