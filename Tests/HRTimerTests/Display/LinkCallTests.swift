// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer

/// Tests of what a link's calls report, depending on when its loop makes them. On frozen time.
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

    /// Advances to that time, and lets the loop make one pass.
    private func fire(_ milliseconds: Double) {
        time.advance(to: at(milliseconds))
        loop.run(mode: .default, for: .zero)
    }

    @Test("A call in time is for its own refresh, and its lateness counts from that refresh")
    func inTime() {
        for milliseconds in [10.0, 20.004, 30.5] { fire(milliseconds) }
        #expect(seen.all == [at(10), at(20), at(30)])
        #expect(link.timestamp == at(30))
        #expect(link.targetTimestamp == at(40))
        #expect(link.delta == .milliseconds(10))
        #expect(link.droppedFrames == 0)
        #expect(link.statistics.fires == 3)
        // A link has no thread of its own: these are counted by its loop.
        #expect(link.statistics.wakeups == 0 && link.statistics.spinTime == .zero && link.statistics.earlyWakes == 0)
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

    @Test(
        "A link that an earlier handler of the same pass pauses, removes or invalidates is not called",
        arguments: 0..<3
    )
    func notCalled(_ way: Int) {
        let before = LoopTimer(fireAt: at(10), repeats: false) { [link, loop] _ in
            switch way {
            case 0: link.isPaused = true
            case 1: link.remove(from: loop, forMode: .default)
            default: link.invalidate()
            }
        }
        loop.add(before, forMode: .default)
        // Armed anew, the link comes after the timer.
        link.frameInterval = 1
        for milliseconds in [10.0, 20] { fire(milliseconds) }
        #expect(seen.all == [])
        #expect(loop.liveTimers == (way == 0 ? 1 : 0))
        link.invalidate()
    }

    @Test("A precise call that is withdrawn before its deadline, since the link was changed, has not begun")
    func withdrawn() {
        link.precision = .precise
        time.advance(to: at(9))
        var fire = Fire()
        let isPrepared = loop.core.state.withLock { state in
            state.push(LoopState.Run(mode: .default, index: state.modes.index(of: .default)))
            state.serveGroups()
            return state.prepareBefore(ns(10), isWanted: true, &fire)
        }
        #expect(isPrepared)
        link.wakeLead = .fixed(.milliseconds(3))
        loop.core.state.withLock { state in
            _ = state.finish(&fire, now_ns: ns(9), wasCalled: false)
            state.endRun(ns(9))
        }
        fire.letGo()
        #expect(link.statistics.fires == 0)
        #expect(loop.limitInstant(forMode: .default) == at(17))
        loop.run(until: at(20))
        #expect(seen.all == [at(10)])
        #expect(link.statistics.fires == 1 && link.droppedFrames == 0)
        link.invalidate()
    }

    @Test("A link that is changed between its refresh and its call is late for that refresh, not early for the next")
    func rescheduled() {
        let now_ns = ns(10) + 100
        time.advance(to: .init(nanoseconds: now_ns))
        link.preferredFramesPerSecond = 100
        loop.run(mode: .default, for: .zero)
        #expect(seen.all == [at(10)])
        #expect(link.latestLateness == .nanoseconds(100))
        link.invalidate()
    }
}
