// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer

/// Tests of features that `CADisplayLink` does not have, and of requests for rates. On frozen time.
@Suite struct DisplayLinkFeatureTests {
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

    @Test("Divisors of a rate go down to the slowest rate that there is, if the range does")
    func allDivisors() {
        #expect(FrameRateRange(minimum: 0.000_5, maximum: 60).divisors(of: 60) == 1..<60_001)
        #expect(FrameRateRange(minimum: 20, maximum: 30).divisors(of: 60) == 2..<4)
    }

    @Test(
        "A link uses the divided rate in the range nearest to the preferred; without one the nearest, and it says so",
        arguments: [
            (120, 30, 60, nil, 60, true), (120, 30, 60, 30, 30, true), (120, 50, 60, 48, 60, true),
            (60, 24, 24, 24, 20, false),
            (144, 30, 75, 60, 48, true), (144, 50, 75, 60, 72, true), (60, 80, 120, nil, 60, false),
            (59.94, 60, 60, nil, 59.94, true), (60, 0, 0, nil, 60, true), (60, 20, 10, nil, 20, true),
            // The preferred rate is far outside the range.
            (120, 10, 49, 173, 40, true), (120, 10, 49, .infinity, 40, true), (144, 1, 7, 144, 144.0 / 21, true),
            (120, 41, 80, 3, 60, true), (120, 59, 1000, 1, 60, true), (60, 0.01, 0.02, 60, 60.0 / 2997, true),
            (60, 0, 13, 40, 12, true), (120, 61, 119, 173, 120, false), (120, 61, 119, 62, 60, false),
        ] as [(Double, Double, Double, Double?, Double, Bool)]
    )
    func ranges(_ rate: Double, _ low: Double, _ high: Double, _ preferred: Double?, _ expected: Double, _ isIn: Bool) {
        let link = DisplayLink(framesPerSecond: rate) { _ in }
        link.preferredFrameRateRange = FrameRateRange(minimum: low, maximum: high, preferred: preferred)
        #expect(abs(link.actualFramesPerSecond - expected) < 1e-9)
        #expect(link.preferredFrameRateRange.contains(link.actualFramesPerSecond) == isIn)
    }

    @Test("Any range of frame rates is safe")
    func anyRange() {
        let values: [Double] = [0, -1, .nan, .infinity, -.infinity, 1e-300, 1e300, 60]
        let link = DisplayLink(framesPerSecond: 60) { _ in }
        for low in values {
            for high in values {
                for preferred in values.map(Optional.some) + [nil] {
                    let range = FrameRateRange(minimum: low, maximum: high, preferred: preferred)
                    #expect(range.minimum <= range.maximum)
                    #expect(range.preferred.map { $0 > 0 } ?? true)
                    link.preferredFrameRateRange = range
                    #expect((0.0009...60).contains(link.actualFramesPerSecond))
                }
            }
        }
        for interval in [Int.min, -1, 0, 1, .max] {
            link.frameInterval = interval
            #expect(link.frameInterval == max(1, interval))
        }
        link.add(to: loop, forMode: .default)
        loop.run(until: at(100))
        link.invalidate()
    }

    @Test(
        "A request for a rate, a range or an interval replaces the other two; duration stays that of the display"
    )
    func wishes() {
        let link = DisplayLink(framesPerSecond: 120) { _ in }
        link.frameInterval = 4
        #expect(link.actualFramesPerSecond == 30)
        #expect(link.preferredFramesPerSecond == 0)
        link.preferredFramesPerSecond = 60
        #expect(link.frameInterval == 2)
        #expect(link.preferredFrameRateRange == .default)
        link.preferredFrameRateRange = FrameRateRange(minimum: 20, maximum: 40)
        #expect(link.preferredFramesPerSecond == 0)
        #expect(link.actualFramesPerSecond == 40)
        link.frameInterval = 1
        #expect(link.actualFramesPerSecond == 120)
        #expect(link.duration == .nanoseconds(8_333_333))
    }

    @Test("Links of different rates are called at the same refreshes where both are due")
    func inStep() {
        let (all, thirds) = (Recorder<MonotonicInstant>(), Recorder<MonotonicInstant>())
        let source = VsyncSource(frameRate: FrameRate(60))
        let fast = DisplayLink(source: source) { all.append($0.timestamp) }
        let slow = DisplayLink(source: source) { thirds.append($0.timestamp) }
        slow.frameInterval = 3
        fast.add(to: loop, forMode: .default)
        loop.run(until: at(100))
        slow.add(to: loop, forMode: .default)
        loop.run(until: at(500))
        #expect(thirds.count == 8)
        #expect(Set(all.all).isSuperset(of: thirds.all))
        fast.invalidate()
        slow.invalidate()
    }

    @Test("delta is in whole refreshes, however late the calls are")
    func delta() {
        let deltas = Recorder<Duration>()
        let link = DisplayLink(framesPerSecond: 100) { [time] link in
            deltas.append(link.delta)
            if deltas.count == 2 { time.advance(by: .milliseconds(12)) }
            if deltas.count == 3 { link.preferredFramesPerSecond = 50 }
        }
        link.add(to: loop, forMode: .default)
        time.advance(by: .milliseconds(14))
        loop.run(until: at(100))
        #expect(deltas.all.prefix(4) == [.zero, .milliseconds(10), .milliseconds(20), .milliseconds(20)])
        link.invalidate()
    }

    @Test("After a pause, or a time in no loop, delta is zero as in the first call, unless no refresh passed meanwhile")
    func deltaAfterRests() {
        let deltas = Recorder<Duration>()
        let link = DisplayLink(framesPerSecond: 100) { link in deltas.append(link.delta) }
        link.add(to: loop, forMode: .default)
        loop.run(until: at(35))
        link.isPaused = true
        loop.run(until: at(1035))
        link.isPaused = false
        loop.run(until: at(1055))
        link.remove(from: loop, forMode: .default)
        time.advance(to: at(2055))
        link.add(to: loop, forMode: .default)
        loop.run(until: at(2075))
        // No refresh comes in this pause.
        link.isPaused = true
        loop.run(until: at(2078))
        link.isPaused = false
        loop.run(until: at(2095))
        let frame = Duration.milliseconds(10)
        #expect(deltas.all == [.zero, frame, frame, .zero, frame, .zero, frame, frame, frame])
        link.invalidate()
    }

    @Test("Lateness counts from the refresh that was due, and is summed up")
    func lateness() {
        let link = DisplayLink(framesPerSecond: 100) { _ in }
        #expect(link.lateness.count == 0)
        link.add(to: loop, forMode: .default)
        time.advance(by: .milliseconds(13))
        loop.run(until: at(30))
        #expect(link.statistics.fires == 3)
        #expect(link.lateness.sum == .milliseconds(3))
        #expect(link.latestLateness == .zero)
        #expect(link.lateness.count == 3)
        #expect(link.lateness.max == .milliseconds(3))
        #expect(link.lateness.quantile(0.5) == .zero)
        // A histogram that was returned does not change.
        let before = link.lateness
        loop.run(until: at(40))
        #expect(before.count == 3)
        #expect(link.lateness.count == 4)
        link.invalidate()
    }

    @Test("A call after another timer's in the same pass is as late as that timer has made it")
    func lateForAnother() {
        let before = LoopTimer(fireAt: at(10), repeats: false) { [time] _ in time.advance(by: .milliseconds(3)) }
        loop.add(before, forMode: .default)
        let link = DisplayLink(framesPerSecond: 100) { _ in }
        link.add(to: loop, forMode: .default)
        loop.run(until: at(15))
        #expect(link.statistics.fires == 1)
        #expect(link.latestLateness == .milliseconds(3))
        loop.run(until: at(20))
        #expect(link.latestLateness == .zero)
        link.invalidate()
    }

    @Test("A loop blocked for ten frames makes one call, with nine frames dropped")
    func blocked() {
        let calls = Recorder<Double>()
        let link = DisplayLink(framesPerSecond: 100) { [self] in calls.append(ms($0.timestamp)) }
        link.add(to: loop, forMode: .default)
        loop.run(until: at(20))
        time.advance(by: .milliseconds(100))
        loop.run(until: at(130))
        #expect(calls.all == [10, 20, 120, 130])
        #expect(link.droppedFrames == 9)
        link.invalidate()
    }

    @Test("Refreshes are not dropped while the loop runs in a mode without the link; those of a busy loop are")
    func otherMode() {
        let link = DisplayLink(framesPerSecond: 100) { _ in }
        link.add(to: loop, forMode: .default)
        let keeper = LoopTimer(timeInterval: .milliseconds(1), repeats: true, time: time.base) { _ in }
        loop.add(keeper, forMode: .modalPanel)
        loop.run(until: at(20))
        // A modal session that restarts after every event.
        while time.now < at(200) { loop.run(mode: .modalPanel, before: time.now.advanced(by: .milliseconds(7))) }
        loop.run(until: at(250))
        #expect(link.droppedFrames == 0)
        // The loop is busy for three refreshes between runs, and then runs in the other mode again, nested this time.
        time.advance(by: .milliseconds(35))
        loop.perform { [loop, time] in loop.run(mode: .modalPanel, before: time.now.advanced(by: .milliseconds(100))) }
        loop.run(until: at(450))
        #expect((2...3).contains(link.droppedFrames))
        keeper.invalidate()
        link.invalidate()
    }

    @Test("A loop waits precisely for the calls of a precise link, and for those alone")
    func precision() {
        let link = DisplayLink(framesPerSecond: 100) { _ in }
        link.precision = .precise
        link.add(to: loop, forMode: .default)
        #expect(nextPrecise_ns == at(10).nanoseconds)
        loop.run(until: at(25))
        #expect(nextPrecise_ns == at(30).nanoseconds)
        link.precision = .normal
        #expect(nextPrecise_ns == .max)
        link.precision = .precise
        #expect(nextPrecise_ns == at(30).nanoseconds)
        #expect(link.statistics.fires == 2 && link.lateness.max == .zero)
        link.invalidate()
    }

    private var nextPrecise_ns: Int64 {
        loop.core.state.withLock { state in
            while state.core.normalize() {}
            return state.core.nextPrecise_ns
        }
    }

    @Test(
        "A link that was changed in no loop, or left its loop in its handler, has a zero delta in the first call after it"
    )
    func deltaAfterChanges() {
        let deltas = Recorder<Duration>()
        let link = DisplayLink(framesPerSecond: 100) { [loop] link in
            deltas.append(link.delta)
            if deltas.count == 4 { link.remove(from: loop, forMode: .default) }
        }
        link.add(to: loop, forMode: .default)
        loop.run(until: at(25))
        link.remove(from: loop, forMode: .default)
        link.frameInterval = 2
        link.frameInterval = 1
        for begin in [1000.0, 2000] {
            time.advance(to: at(begin))
            link.add(to: loop, forMode: .default)
            loop.run(until: at(begin + 25))
        }
        let frame = Duration.milliseconds(10)
        #expect(deltas.all == [.zero, frame, .zero, frame, .zero, frame])
        #expect(link.statistics.fires == 6 && link.lateness.count == 6 && link.droppedFrames == 0)
        link.invalidate()
    }

    @Test("The deadline of a link's next call is shown by its loop, and a paused link has none")
    func shown() {
        let link = DisplayLink(framesPerSecond: 100) { _ in }
        link.add(to: loop, forMode: .default)
        loop.run(until: at(15))
        #expect(loop.limitInstant(forMode: .default) == at(20))
        link.wakeLead = .fixed(.milliseconds(3))
        #expect(loop.limitInstant(forMode: .default) == at(27))
        link.isPaused = true
        #expect(loop.limitInstant(forMode: .default) == .distantFuture)
        link.invalidate()
        #expect(loop.limitInstant(forMode: .default) == nil)
    }

    @Test("After a year at 60000/1001 Hz a link's refreshes are less than a nanosecond off")
    func year() {
        let rate = FrameRate(60_000, 1001)
        let timestamps = Recorder<Int64>()
        let link = DisplayLink(frameRate: rate) { [start] in
            timestamps.append($0.timestamp.nanoseconds - start.nanoseconds)
        }
        link.add(to: loop, forMode: .default)
        for day in [0, 1, 30, 365] as [Int64] {
            time.advance(to: start.advanced(by: .seconds(day * 86_400)))
            timestamps.removeAll()
            loop.run(until: time.now.advanced(by: .milliseconds(100)))
            // The late call, and six calls in time.
            #expect((5...7).contains(timestamps.count))
            for timestamp_ns in timestamps.all {
                let number = (Int128(timestamp_ns) * 60_000 + 500_500_000_000) / 1_001_000_000_000
                // In units of 1/60,000 ns.
                #expect(abs(Int128(timestamp_ns) * 60_000 - number * 1_001_000_000_000) < 60_000)
            }
        }
        link.invalidate()
    }

    @Test(
        "A variable virtual display runs at the lowest possible multiple of a request, and meets the request exactly",
        arguments: [
            (nil, 144, 144), (100, 100, 100), (24, 48, 24), (48, 48, 48), (20, 60, 20), (144, 144, 144),
            (500, 144, 144),
            (59.94, 59.94, 59.94), (0.001, 48, 0.001),
        ] as [(Double?, Double, Double)]
    )
    func variable(_ wish: Double?, _ display: Double, _ calls: Double) {
        let link = DisplayLink(source: VsyncSource(frameRates: 48...144)) { _ in }
        link.add(to: loop, forMode: .default)
        if let wish { link.preferredFramesPerSecond = wish }
        #expect(abs(link.maximumFramesPerSecond - display) < 1e-6)
        #expect(abs(link.actualFramesPerSecond / calls - 1) < 1e-6)
        link.invalidate()
    }

    @Test(
        "The fastest request of the running links counts; refreshes go on rising, and none counts as dropped"
    )
    func variableLinks() {
        let source = VsyncSource(frameRates: 40...120)
        let timestamps = Recorder<Int64>()
        let fast = DisplayLink(source: source) { timestamps.append($0.timestamp.nanoseconds) }
        fast.preferredFramesPerSecond = 100
        fast.add(to: loop, forMode: .default)
        let slow = DisplayLink(source: source) { _ in }
        slow.preferredFrameRateRange = FrameRateRange(minimum: 20, maximum: 60, preferred: 50)
        slow.add(to: loop, forMode: .default)
        #expect(source.framesPerSecond == 100)
        #expect(slow.frameInterval == 2)
        loop.run(until: at(205))
        fast.isPaused = true
        #expect(source.framesPerSecond == 50)
        #expect(slow.actualFramesPerSecond == 50)
        loop.run(until: at(405))
        fast.isPaused = false
        #expect(source.framesPerSecond == 100)
        // Without a request the display is as fast as it can be.
        slow.preferredFramesPerSecond = 0
        #expect(source.framesPerSecond == 120)
        loop.run(until: at(605))
        #expect(fast.droppedFrames + slow.droppedFrames == 0)
        #expect(zip(timestamps.all, timestamps.all.dropFirst()).allSatisfy { $1 - $0 >= 8_333_333 })
        slow.invalidate()
        #expect(source.framesPerSecond == 100)
        fast.invalidate()
    }

    @Test("Any range of a variable display is safe")
    func anyVariable() {
        for range in [0...0, -5...(-1), 1e-300...1e300, 60...60, -.infinity ... .infinity] as [ClosedRange<Double>] {
            let source = VsyncSource(frameRates: range)
            let link = DisplayLink(source: source) { _ in }
            link.add(to: loop, forMode: .default)
            for wish in [0, -1, .nan, 1e-300, 60, 1e300, .infinity] as [Double] {
                link.preferredFramesPerSecond = wish
                #expect(FrameRate.bounds.contains(source.framesPerSecond))
            }
            link.invalidate()
        }
    }
}
