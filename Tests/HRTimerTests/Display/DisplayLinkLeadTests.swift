// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer

/// Tests of calls that come a lead before the end of their frame, on frozen time.
@Suite struct DisplayLinkLeadTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant

    init() {
        loop = TimerLoop(time: time.base)
        start = time.now
    }

    private func at(_ milliseconds: Double) -> MonotonicInstant {
        start.advanced(by: .nanoseconds(Int64((milliseconds * 1e6).rounded())))
    }

    private func ms(_ instant: MonotonicInstant) -> Double {
        Double(instant.nanoseconds - start.nanoseconds) / 1e6
    }

    @Test("With a lead the call comes that long before the end of its frame, and reports the same refreshes")
    func lead() {
        let calls = Recorder<[Double]>()
        let link = DisplayLink(framesPerSecond: 100) { [time, self] link in
            calls.append([ms(time.now), ms(link.timestamp), ms(link.targetTimestamp)])
        }
        link.wakeLead = .fixed(.milliseconds(3))
        link.add(to: loop, forMode: .default)
        loop.run(until: at(40))
        #expect(calls.all == [[7, 0, 10], [17, 10, 20], [27, 20, 30], [37, 30, 40]])
        link.frameInterval = 2
        calls.removeAll()
        loop.run(until: at(100))
        #expect(calls.all == [[57, 40, 60], [77, 60, 80], [97, 80, 100]])
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }

    @Test("A lead longer than the frame counts as none; any lead is safe")
    func anyLead() {
        for lead: Duration in [.seconds(1), .milliseconds(10), .zero, .seconds(-5), .seconds(Int64.max)] {
            let calls = Recorder<Double>()
            let begin = time.now
            let link = DisplayLink(source: VsyncSource(frameRate: FrameRate(100))) { [time] _ in
                calls.append(Double(time.now.nanoseconds - begin.nanoseconds) / 1e6)
            }
            link.wakeLead = .fixed(lead)
            link.add(to: loop, forMode: .default)
            loop.run(until: begin.advanced(by: .milliseconds(35)))
            #expect(calls.all == [10, 20, 30], "\(lead)")
            #expect(link.droppedFrames == 0)
            link.invalidate()
        }
    }

    @Test("A frame of several refreshes may have a lead longer than one refresh")
    func longLead() {
        let calls = Recorder<[Double]>()
        let link = DisplayLink(framesPerSecond: 100) { [time, self] link in
            calls.append([ms(time.now), ms(link.timestamp), ms(link.targetTimestamp)])
        }
        link.frameInterval = 3
        link.wakeLead = .fixed(.milliseconds(14))
        link.add(to: loop, forMode: .default)
        loop.run(until: at(80))
        #expect(calls.all == [[16, 0, 30], [46, 30, 60], [76, 60, 90]])
        link.invalidate()
    }

    @Test("A handler that overruns its lead drops a refresh, which is counted")
    func overrun() {
        let calls = Recorder<Double>()
        let link = DisplayLink(framesPerSecond: 100) { [time, self] link in
            calls.append(ms(link.targetTimestamp))
            if calls.count == 2 { time.advance(by: .milliseconds(15)) }
        }
        link.wakeLead = .fixed(.milliseconds(3))
        link.add(to: loop, forMode: .default)
        loop.run(until: at(60))
        #expect(calls.all == [10, 20, 40, 50, 60])
        #expect(link.droppedFrames == 1)
        link.invalidate()
    }

    @Test("With a lead, a dropped frame gets no call when its end is put off afterwards")
    func putOff() {
        let source = VsyncSource(frameRate: FrameRate(100))
        let numbers = Recorder<Int64>()
        let link = DisplayLink(source: source) { [time] link in
            numbers.append(link.withState { $0.reported.number } ?? -1)
            // Past 27 ms, when the call for the next frame should have come.
            if numbers.count == 2 { time.advance(by: .milliseconds(11)) }
        }
        link.wakeLead = .fixed(.milliseconds(3))
        link.add(to: loop, forMode: .default)
        loop.run(until: at(29))
        #expect(numbers.all == [0, 1])
        #expect(link.droppedFrames == 1)
        // Then the second frame ends at 40 ms rather than at 30 ms.
        source.frameRate = FrameRate(50)
        loop.run(until: at(78))
        #expect(numbers.all == [0, 1, 3, 4])
        #expect(link.droppedFrames == 1)
        link.invalidate()
    }

    @Test("A due call whose frame is over, because its link has got another interval, counts as dropped")
    func frameIsOver() {
        let numbers = Recorder<Int64>()
        let link = DisplayLink(source: VsyncSource(frameRate: FrameRate(100))) { link in
            numbers.append(link.withState { $0.reported.number } ?? -1)
        }
        link.frameInterval = 5
        link.wakeLead = .fixed(.milliseconds(3))
        link.add(to: loop, forMode: .default)
        loop.run(until: at(60))
        #expect(numbers.all == [0])
        // The call for the 5th refresh has been due since 97 ms. With an interval of seven its frame ended at 70 ms.
        time.advance(to: at(98))
        link.frameInterval = 7
        loop.run(until: at(138))
        #expect(numbers.all == [0, 7])
        #expect(link.droppedFrames == 1)
        link.invalidate()
    }

    @Test("A learned lead is the handler's duration plus a tenth and a millisecond; then every frame is met")
    func learned() {
        let calls = Recorder<Double>()
        let link = DisplayLink(framesPerSecond: 50) { [time, self] link in
            calls.append(ms(link.targetTimestamp) - ms(time.now))
            time.advance(by: .milliseconds(5))
        }
        link.wakeLead = .learned
        link.add(to: loop, forMode: .default)
        loop.run(until: at(200))
        #expect(calls.all.first == 20)
        #expect(calls.all.dropFirst().allSatisfy { abs($0 - 6.5) < 1e-6 })
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }

    @Test("A learned lead falls by a fiftieth a frame when the handler is quicker again, and no further than it needs")
    func learnedFalls() {
        let leads_ms = Recorder<Double>()
        let link = DisplayLink(framesPerSecond: 50) { [time, self] link in
            leads_ms.append(ms(link.targetTimestamp) - ms(time.now))
            time.advance(by: .milliseconds(leads_ms.count <= 5 ? 5 : 2))
        }
        link.wakeLead = .learned
        link.add(to: loop, forMode: .default)
        loop.run(until: at(3000))
        #expect(abs(leads_ms.all[5] - 6.5) < 1e-6)
        #expect(abs(leads_ms.all[15] - (5.5 * 0.817_072_8 + 1)) < 1e-3)
        #expect(leads_ms.all.suffix(50).allSatisfy { abs($0 - 3.2) < 1e-6 })
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }

    @Test(
        "With a lead, refreshes whose calls were due while the loop ran in a mode without the link are not dropped",
        arguments: [(20, 29, 1), (28, 35, 2), (26, 38, 0), (31, 36, 2)]
    )
    func otherModeWithLead(_ begin_ms: Int, _ end_ms: Int, _ dropped: Int) {
        let link = DisplayLink(framesPerSecond: 100) { _ in }
        // The calls are due at 7, 17, 27 ms and so on.
        link.wakeLead = .fixed(.milliseconds(3))
        link.add(to: loop, forMode: .default)
        let keeper = LoopTimer(timeInterval: .milliseconds(1), repeats: true, time: time.base) { _ in }
        loop.add(keeper, forMode: .modalPanel)
        loop.run(until: at(18))
        time.advance(to: at(Double(begin_ms)))
        while time.now < at(Double(end_ms)) { loop.run(mode: .modalPanel, before: at(Double(end_ms))) }
        // The loop is busy then, and the calls for the 2nd and the 3rd refresh have not come.
        time.advance(to: at(55))
        loop.run(until: at(56))
        #expect(link.statistics.fires == 3)
        #expect(link.droppedFrames == dropped)
        keeper.invalidate()
        link.invalidate()
    }
}
