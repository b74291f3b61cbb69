// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer

/// Tests of a link on the refreshes of a fake display, on frozen time, with the failures of displays and servers.
@Suite struct VsyncSourceTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    let ticks = Recorder<MonotonicInstant>()

    init() {
        loop = TimerLoop(time: time.base)
        start = time.now
    }

    private func link(_ source: VsyncSource, then block: @escaping DisplayLink.Handler = { _ in }) -> DisplayLink {
        let link = DisplayLink(source: source) { [ticks] link in
            ticks.append(link.timestamp)
            block(link)
        }
        link.add(to: loop, forMode: .default)
        return link
    }

    private func run(_ seconds: Double) {
        loop.run(until: time.now.advanced(by: .nanoseconds(Int64(seconds * 1e9))))
    }

    /// Checks that instants rise strictly, each by at least half a period of the rate `fastest`.
    private func expectSteady(_ fastest: Double, _ where: SourceLocation = #_sourceLocation) {
        let all = ticks.all
        for (before, next) in zip(all, all.dropFirst()) {
            let step_ns = next.nanoseconds - before.nanoseconds
            if Double(step_ns) < 0.5e9 / fastest {
                Issue.record("\(step_ns) ns from one call to the next", sourceLocation: `where`)
                return
            }
        }
    }

    @Test("Calls follow the display, not the rate that was reported", arguments: [24.0, 50, 59.94, 75, 144, 240])
    func follows(_ rate: Double) throws {
        let display = try FakeDisplay(rate, time, loop, reported: FrameRate(60))
        let source = display.source()
        let link = link(source)
        #expect(source.state == .learning)
        #expect(link.maximumFramesPerSecond == 60)
        run(2)
        #expect(source.state == .locked)
        #expect(abs(link.maximumFramesPerSecond - rate) < rate * 1e-6)
        ticks.removeAll()
        run(1)
        #expect(abs(ticks.count - Int(rate)) <= 1)
        #expect(ticks.all.allSatisfy { display.error_ns($0) <= 2 })
        #expect(link.droppedFrames == 0)
        expectSteady(max(rate, 60))
        link.invalidate()
    }

    @Test("A display that is known is asked six times a second, and not at all while all links are paused")
    func requests() throws {
        let display = try FakeDisplay(144, time, loop)
        let source = display.source()
        let link = link(source)
        run(2)
        var before = display.requests_ns.count
        run(1)
        #expect((5...7).contains(display.requests_ns.count - before))
        link.isPaused = true
        before = display.requests_ns.count
        loop.isKeptAlive = true
        run(5)
        #expect(display.requests_ns.count == before)
        link.isPaused = false
        run(1)
        #expect(display.requests_ns.count > before)
        #expect(source.state == .locked)
        #expect(ticks.all.suffix(20).allSatisfy { display.error_ns($0) <= 2 })
        link.invalidate()
    }

    @Test("Calls approach the display's phase by a twentieth of a period at a time; time never goes back")
    func slew() throws {
        let display = try FakeDisplay(60, time, loop)
        let source = display.source()
        let link = link(source)
        run(1)
        display.phase_ns += 8_000_000
        run(1)
        let steps_ns = zip(ticks.all, ticks.all.dropFirst()).map { $1.nanoseconds - $0.nanoseconds }
        let period_ns = Int64(1e9 / 60)
        #expect(steps_ns.allSatisfy { abs($0 - period_ns) <= period_ns / 20 + 2 })
        #expect(steps_ns.contains { abs($0 - period_ns) > period_ns / 25 })
        #expect(ticks.all.suffix(5).allSatisfy { display.error_ns($0) <= 2 })
        #expect(source.statistics.restarts == 1)
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }

    @Test(
        "After a change of the mode its rate is found within a few refreshes",
        arguments: [(60.0, 144.0), (144, 60), (60, 30), (75, 240), (165, 48)]
    )
    func mode(_ before: Double, _ after: Double) throws {
        let display = try FakeDisplay(before, time, loop)
        let changes = Recorder<Double>()
        let link = link(display.source()) { link in
            if link.hasNewRate { changes.append(link.maximumFramesPerSecond.rounded()) }
        }
        run(2)
        display.setRate(after)
        run(2)
        #expect(abs(link.maximumFramesPerSecond - after) < 0.001)
        // From 60 Hz to the first mode, unless that has the same rate, and to the second.
        #expect(changes.all == (before == 60 ? [] : [before]) + [after])
        #expect(ticks.all.suffix(5).allSatisfy { display.error_ns($0) <= 2 })
        expectSteady(max(before, after))
        link.invalidate()
    }

    @Test(
        "A mode whose rate is a thousandth off is noticed within a second, and no call is far off meanwhile",
        arguments: [(60.0, 59.94), (59.94, 60), (144, 143.856), (23.976, 24)]
    )
    func nearbyMode(_ before: Double, _ after: Double) throws {
        let display = try FakeDisplay(before, time, loop)
        let source = display.source()
        let link = link(source)
        // Time for as many samples as are kept at most.
        run(8)
        ticks.removeAll()
        let restarts = source.statistics.restarts
        display.setRate(after)
        let errors_ns = Recorder<Int64>()
        let watch = LoopTimer(timeInterval: .milliseconds(1), repeats: true, time: time.base) { [ticks] _ in
            if let latest = ticks.all.last { errors_ns.append(display.error_ns(latest)) }
        }
        loop.add(watch, forMode: .default)
        run(1)
        #expect(source.statistics.restarts == restarts + 1)
        run(4)
        #expect(abs(source.framesPerSecond - after) < after * 1e-6)
        #expect(ticks.all.suffix(20).allSatisfy { display.error_ns($0) <= 2 })
        // The bound is a twentieth of a period; a third of a second with the wrong rate makes much less.
        #expect(errors_ns.all.allSatisfy { Double($0) < 0.05 * display.period_ns })
        #expect(source.state == .locked)
        #expect(link.droppedFrames == 0)
        expectSteady(max(before, after))
        watch.invalidate()
        link.invalidate()
    }

    @Test(
        "On a screen of variable rate calls stay in its bounds, nothing is asked twice, and a steady rate is found",
        arguments: [48.0, 90, 144]
    )
    func variable(_ after: Double) throws {
        var random = SeededRandom(seed: UInt64(after))
        let display = try FakeDisplay(100, time, loop)
        let source = display.source()
        let link = link(source)
        run(2)
        ticks.removeAll()
        let before = (requests: display.requests_ns.count, refreshes: display.latest)
        // As of a game whose frame times vary, within 48...144 Hz.
        display.vary((0..<500).map { _ in Double.random(in: 1e9 / 144...1e9 / 48, using: &random) }, then: after)
        run(6)
        #expect(display.requests_ns.count - before.requests <= display.latest - before.refreshes + 1)
        let steps_ns = zip(ticks.all, ticks.all.dropFirst()).map { Double($1.nanoseconds - $0.nanoseconds) }
        #expect(steps_ns.allSatisfy { (0.5e9 / 144...1.06e9 / 48).contains($0) })
        #expect(source.statistics.bogus == 0)
        run(4)
        #expect(source.state == .locked)
        #expect(abs(source.framesPerSecond - after) < after * 1e-6)
        #expect(ticks.all.suffix(5).allSatisfy { display.error_ns($0) <= 2 })
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }

    @Test(
        "A sleeping display is asked at most four times a second; calls go on, and it is found again when it wakes"
    )
    func asleep() throws {
        let display = try FakeDisplay(60, time, loop)
        let source = display.source()
        let link = link(source)
        run(2)
        display.mood = .asleep
        // Time for the pending requests.
        run(0.5)
        ticks.removeAll()
        let before = display.requests_ns.count
        run(10)
        #expect((30...41).contains(display.requests_ns.count - before))
        #expect(abs(ticks.count - 600) <= 1)
        #expect(source.state == .lost)
        #expect(source.statistics.bogus > 30)
        display.phase_ns += 5_000_000
        display.mood = .well
        run(2)
        #expect(source.state == .locked)
        #expect(ticks.all.suffix(5).allSatisfy { display.error_ns($0) <= 2 })
        expectSteady(60)
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }

    @Test(
        "A server that repeats one refresh is asked at most four times a second; calls go on, and it is found again"
    )
    func stuck() throws {
        let display = try FakeDisplay(60, time, loop)
        let source = display.source()
        let link = link(source)
        run(2)
        display.mood = .stuck
        run(0.5)
        ticks.removeAll()
        let before = display.requests_ns.count
        run(10)
        #expect((30...41).contains(display.requests_ns.count - before))
        #expect(abs(ticks.count - 600) <= 1)
        #expect(source.state == .lost)
        display.mood = .well
        run(2)
        #expect(source.state == .locked)
        #expect(ticks.all.suffix(5).allSatisfy { display.error_ns($0) <= 2 })
        expectSteady(60)
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }

    @Test(
        "An output that is off is asked at most four times a second, and refuses; calls go on, and it is found again"
    )
    func off() throws {
        let display = try FakeDisplay(144, time, loop)
        let source = display.source()
        let link = link(source)
        run(2)
        display.mood = .off
        run(0.5)
        ticks.removeAll()
        let before = display.requests_ns.count
        run(10)
        #expect((30...41).contains(display.requests_ns.count - before))
        #expect(abs(ticks.count - 1440) <= 1)
        #expect(source.state == .lost)
        display.phase_ns += 2_000_000
        display.mood = .well
        run(2)
        #expect(source.state == .locked)
        #expect(ticks.all.suffix(5).allSatisfy { display.error_ns($0) <= 2 })
        expectSteady(144)
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }

    @Test(
        "Without answers calls go on as the display would: coasting, lost after 2 s, without another request"
    )
    func silent() throws {
        let display = try FakeDisplay(75, time, loop)
        let source = display.source()
        let link = link(source)
        run(3)
        display.mood = .silent
        run(0.2)
        #expect(source.state == .locked)
        run(0.3)
        #expect(source.state == .coasting)
        let before = display.requests_ns.count
        run(3)
        #expect(source.state == .lost)
        #expect(display.requests_ns.count <= before + 1)
        #expect(ticks.all.suffix(100).allSatisfy { display.error_ns($0) < 1000 })
        expectSteady(75)
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }

    @Test("When the server is gone, calls go on without a gap, and it is looked for at growing intervals")
    func gone() throws {
        let display = try FakeDisplay(60, time, loop)
        let attempts = Recorder<MonotonicInstant>()
        let second = try FakeDisplay(120, time, loop)
        let source = display.source { [time, attempts, start] () throws(TimerError) in
            attempts.append(time.now)
            if time.now < start.advanced(by: .seconds(12)) { throw TimerError(operation: "connect", errorNumber: 111) }
            return second
        }
        let link = link(source)
        run(2)
        ticks.removeAll()
        display.die()
        run(8)
        #expect(source.state == .lost)
        #expect(source.statistics.losses == 1)
        #expect(abs(ticks.count - 480) <= 1)
        let steps_ns = zip(ticks.all, ticks.all.dropFirst()).map { $1.nanoseconds - $0.nanoseconds }
        #expect(steps_ns.allSatisfy { (16_666_000...16_667_500).contains($0) })
        #expect((4...6).contains(attempts.count))
        run(12)
        #expect(source.state == .locked)
        #expect(abs(link.maximumFramesPerSecond - 120) < 0.001)
        #expect(ticks.all.suffix(5).allSatisfy { second.error_ns($0) <= 2 })
        expectSteady(120)
        link.invalidate()
    }

    @Test("Two links of a display are called together and agree on the refresh, whenever they were added")
    func together() throws {
        let display = try FakeDisplay(59.94, time, loop)
        let source = display.source()
        let first = link(source)
        run(0.537)
        let others = Recorder<MonotonicInstant>()
        let second = DisplayLink(source: source) { others.append($0.timestamp) }
        second.add(to: loop, forMode: .default)
        ticks.removeAll()
        run(3)
        #expect(ticks.all == others.all)
        first.invalidate()
        run(1)
        // The display is still watched for the second link.
        #expect(source.state == .locked)
        second.invalidate()
        #expect(loop.liveTimers == 0)
    }

    @Test("Links with the same rate on one clock share their virtual display")
    func sharedVirtual() {
        let (ones, others) = (Recorder<MonotonicInstant>(), Recorder<MonotonicInstant>())
        let first = DisplayLink(framesPerSecond: 59.94) { ones.append($0.timestamp) }
        first.add(to: loop, forMode: .default)
        run(0.123)
        ones.removeAll()
        let second = DisplayLink(framesPerSecond: 59.94) { others.append($0.timestamp) }
        second.add(to: loop, forMode: .default)
        run(0.5)
        #expect(ones.count > 20)
        #expect(ones.all == others.all)
        let otherTime = ManualTime()
        let otherLoop = TimerLoop(time: otherTime.base)
        let elsewhere = DisplayLink(framesPerSecond: 59.94) { _ in }
        elsewhere.add(to: otherLoop, forMode: .default)
        #expect(elsewhere.source !== first.source)
        for link in [first, second, elsewhere] { link.invalidate() }
    }

    @Test("A virtual display changes its rate at once while links run, and counts nothing as dropped")
    func setRate() {
        let source = VsyncSource(frameRate: FrameRate(10))
        let link = link(source)
        run(0.25)
        source.frameRate = FrameRate(100)
        run(0.05)
        source.frameRate = FrameRate(0.001)
        run(20)
        source.frameRate = FrameRate(50)
        run(0.1)
        let offsets_ms = ticks.all.map { ($0.nanoseconds - start.nanoseconds) / 1_000_000 }
        #expect(offsets_ms == [100, 200, 260, 270, 280, 290, 300, 20_320, 20_340, 20_360, 20_380, 20_400])
        #expect(link.droppedFrames == 0)
        #expect(link.duration == .milliseconds(20))
        link.invalidate()
    }

    @Test("A source with a link in one clock's loop adds no link to a loop on another clock, and does not wake it")
    func otherClock() {
        let source = VsyncSource(frameRate: FrameRate(10))
        let first = link(source)
        let otherTime = ManualTime()
        let otherLoop = TimerLoop(time: otherTime.base)
        let later = otherTime.now.advanced(by: .seconds(2))
        otherLoop.add(LoopTimer(fireAt: later, interval: .zero, repeats: false) { _ in }, forMode: .default)
        let passes = Recorder<Int>()
        otherLoop.add(LoopObserver(activities: .beforeTimers) { _, _ in passes.append(0) }, forMode: .default)
        let second = DisplayLink(source: source) { _ in }
        second.add(to: otherLoop, forMode: .default)
        #expect(otherLoop.liveTimers == 1)
        otherLoop.run(until: otherTime.now.advanced(by: .seconds(1)))
        #expect(passes.count == 1)
        first.invalidate()
    }

    @Test("A source releases everything with its last link")
    func freed() throws {
        weak var display: FakeDisplay?
        weak var source: VsyncSource?
        do {
            let made = try FakeDisplay(60, time, loop)
            display = made
            let madeSource = made.source()
            source = madeSource
            let link = link(madeSource)
            run(1)
            link.invalidate()
        }
        // Time for the pending answer.
        time.advance(by: .seconds(1))
        #expect(source == nil)
        #expect(display == nil)
        #expect(loop.liveTimers == 0)
    }

    @Test("VSYNC_SOURCE names a source; if there is none, the refusals say why")
    func choice() {
        func chosen(_ environment: [String: String]) -> VsyncSource { VsyncSource.chosen { environment[$0] } }
        #expect(chosen(["VSYNC_SOURCE": "virtual"]).framesPerSecond == 60)
        #expect(chosen(["VSYNC_SOURCE": "virtual:60000/1001"]).frameRate == FrameRate(60000, 1001))
        #expect(chosen(["VSYNC_SOURCE": "virtual:nonsense"]).frameRate == .standard)
        let nothing = chosen([:])
        // A machine with a screen has a card.
        #expect(nothing.kind == .drm || nothing.refusals.map(\.kind) == [.wayland, .x11, .drm])
        let noServer = chosen(["DISPLAY": ":987654"])
        #expect([.virtual, .drm].contains(noServer.kind))
        let reason = hasXCB ? "X server" : "load libxcb.so.1 and libxcb-present.so.0"
        #expect(noServer.refusals.contains { $0.kind == .x11 && $0.reason.contains(reason) })
        #expect(chosen(["DISPLAY": ":987654", "WAYLAND_DISPLAY": "wayland-0"]).refusals.contains { $0.kind == .x11 })
        #expect(chosen(["VSYNC_SOURCE": "moon"]).refusals.first?.reason.contains("moon") == true)
        #expect(chosen(["VSYNC_SOURCE": "x11::987654"]).kind == .virtual)
        let noCard = chosen(["VSYNC_SOURCE": "drm:/dev/dri/nothing"])
        #expect(noCard.kind == .virtual)
        #expect(noCard.refusals.map(\.kind) == [.drm])
    }
}
