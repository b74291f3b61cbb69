// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer

/// Tests of a real display with links in several loops, some of which do not run. On frozen time; one thread runs all loops.
@Suite struct SourceLoopsTests {
    let time = ManualTime()
    let idle: TimerLoop
    let busy: TimerLoop
    let display: FakeDisplay
    let source: VsyncSource
    let ticks = Recorder<MonotonicInstant>()

    init() throws {
        idle = TimerLoop(time: time.base)
        busy = TimerLoop(time: time.base)
        display = try FakeDisplay(144, time, busy)
        source = display.source()
    }

    private func link(in loop: TimerLoop) -> DisplayLink {
        let link = DisplayLink(source: source) { [ticks] link in ticks.append(link.timestamp) }
        link.add(to: loop, forMode: .default)
        return link
    }

    private func run(_ seconds: Double, alongside: () -> Void = {}) {
        let end = time.now.advanced(by: .nanoseconds(Int64(seconds * 1e9)))
        while time.now < end {
            let next = time.now.advanced(by: .milliseconds(1))
            busy.run(until: next)
            // A loop with nothing in it returns at once.
            if time.now < next { time.advance(to: next) }
            alongside()
        }
    }

    private func expectLocked(_ where: SourceLocation = #_sourceLocation) {
        #expect(source.state == .locked, sourceLocation: `where`)
        #expect(abs(source.framesPerSecond - 144) < 1e-3, sourceLocation: `where`)
        #expect(ticks.all.suffix(5).allSatisfy { display.error_ns($0) <= 2 }, sourceLocation: `where`)
    }

    @Test("A display whose first link is in a loop that never runs is learnt by the loop that runs")
    func neverRuns() {
        let first = link(in: idle)
        run(0.5)
        let second = link(in: busy)
        run(3)
        expectLocked()
        #expect(second.droppedFrames == 0)
        // The loop that serves the display now watches it, so that no answer is taken late.
        #expect(source.core.withLock { $0.hosting?.loop } === busy)
        first.invalidate()
        second.invalidate()
    }

    @Test("A display is watched in all modes of its links, and a further link in the same modes changes nothing")
    func modes() {
        let first = link(in: busy)
        let others = (0..<2).map { _ in DisplayLink(source: source) { _ in } }
        others[0].add(to: busy, forMode: .modalPanel)
        #expect(source.core.withLock { $0.hosting?.modes } == [.default, .modalPanel])
        let hostings = source.core.withLock { $0.hostings }
        others[1].add(to: busy, forMode: .modalPanel)
        #expect(source.core.withLock { $0.hostings } == hostings)
        for link in others + [first] { link.invalidate() }
    }

    @Test(
        "A display is still followed when the loop that watched it runs in another mode, or stops running",
        arguments: [true, false]
    )
    func stopsBeingServed(runsOtherMode: Bool) {
        let first = link(in: idle)
        let second = link(in: busy)
        let keeper = LoopTimer(timeInterval: .milliseconds(1), repeats: true, time: time.base) { _ in }
        idle.add(keeper, forMode: .modalPanel)
        run(2) { idle.run(until: time.now) }
        expectLocked()
        for _ in 0..<3 {
            run(5) { if runsOtherMode { idle.run(mode: .modalPanel, before: time.now) } }
            expectLocked()
            run(5) { idle.run(until: time.now) }
            expectLocked()
        }
        #expect(source.statistics.restarts == 0)
        keeper.invalidate()
        first.invalidate()
        second.invalidate()
    }

    @Test(
        "A display is still followed when the loop that watched it ends, whether or not the loop is kept",
        arguments: [true, false]
    )
    func loopEnds(isKept: Bool) {
        var loop: TimerLoop? = TimerLoop(time: time.base)
        let first = link(in: loop!)
        let second = link(in: busy)
        run(2) { loop?.run(until: time.now) }
        expectLocked()
        loop!.end()
        if !isKept { loop = nil }
        #expect(!first.isInLoop)
        #expect(source.core.withLock { $0.hosting?.loop } === busy)
        run(5)
        expectLocked()
        #expect(source.statistics.restarts == 0)
        first.invalidate()
        second.invalidate()
    }

    @Test(
        "The end of a server is noticed even if the loop that watches it does not run, and another one is found"
    )
    func serverEnds() throws {
        let second = try FakeDisplay(60, time, busy)
        let source = display.source { () throws(TimerError) in second }
        let links = [idle, busy].map { loop in
            let link = DisplayLink(source: source) { _ in }
            link.add(to: loop, forMode: .default)
            return link
        }
        run(2) { idle.run(until: time.now) }
        for link in links { link.isPaused = true }
        links[0].isPaused = false
        links[1].isPaused = false
        // No request is pending then, because the display refuses all.
        display.mood = .off
        run(1) { idle.run(until: time.now) }
        #expect(source.core.withLock { $0.hosting?.loop } === idle)
        display.die()
        run(8)
        #expect(source.statistics.losses == 1)
        #expect(source.state == .locked)
        #expect(abs(source.framesPerSecond - 60) < 1e-3)
        for link in links { link.invalidate() }
    }

    @Test("A link whose loop has ended can be added to another loop at the first attempt, and is called there")
    func addedElsewhere() {
        let link = link(in: idle)
        idle.end()
        link.add(to: busy, forMode: .default)
        #expect(busy.liveTimers == 1)
        run(2)
        expectLocked()
        // A link cannot be added to a loop that has ended, either.
        link.remove(from: busy, forMode: .default)
        link.add(to: idle, forMode: .default)
        #expect(!link.isInLoop)
        link.add(to: busy, forMode: .default)
        ticks.removeAll()
        run(1)
        #expect((143...145).contains(ticks.count))
        link.invalidate()
    }

    @Test("The late end of a loop that a link was in before does not remove it from another one")
    func lateEndOfStay() {
        let link = link(in: idle)
        link.remove(from: idle, forMode: .default)
        link.add(to: busy, forMode: .default)
        idle.end()
        // As if the link had been removed when that loop had ended but not told its links yet.
        link.coreHasEnded()
        #expect(link.isInLoop)
        run(1)
        #expect(ticks.count > 50)
        // Otherwise the link would not know that it is in a loop.
        link.add(to: TimerLoop(time: time.base), forMode: .default)
        #expect(busy.liveTimers == 1)
        link.invalidate()
        #expect(busy.liveTimers == 0)
    }

    @Test("Links in loops that ended leave nothing behind: no link, handler, source or display")
    func freed() throws {
        let canaries = Canaries()
        weak var weakSource: VsyncSource?
        do {
            let made = try FakeDisplay(60, time, busy).source()
            weakSource = made
            for loop in [idle, TimerLoop(time: time.base)] {
                let canary = canaries.make()
                DisplayLink(source: made) { _ in withExtendedLifetime(canary) {} }.add(to: loop, forMode: .default)
            }
            idle.run(until: time.now.advanced(by: .milliseconds(100)))
            #expect(canaries.count == 1)
            idle.end()
        }
        // Time for the pending answer.
        time.advance(by: .seconds(1))
        #expect(canaries.count == 0)
        #expect(weakSource == nil)
    }

    @Test(
        "Links of all intervals agree on each refresh's instant while the display is learnt, and none is late",
        arguments: [24.0, 50, 59.94, 144]
    )
    func agree(_ rate: Double) throws {
        let display = try FakeDisplay(rate, time, busy)
        display.phase_ns = 9_000_000
        let source = display.source()
        let disagreements = Recorder<String>()
        let book = Book()
        let links = [1, 2, 3, 5, 7].map { interval in
            let link = DisplayLink(source: source) { [time] link in
                let reported = link.withState { $0.reported }
                guard let number = reported.number, let timestamp_ns = reported.timestamp_ns else { return }
                book.note(number, timestamp_ns, by: interval)
                // A call is never before its refresh, and not late either in a loop that has nothing else to do.
                if time.now.nanoseconds != timestamp_ns {
                    disagreements.append("\(interval) at \(number): \(time.now.nanoseconds - timestamp_ns) ns late")
                }
            }
            link.frameInterval = interval
            link.add(to: busy, forMode: .default)
            return link
        }
        busy.run(until: time.now.advanced(by: .seconds(2)))
        display.setRate(rate * 1.3)
        busy.run(until: time.now.advanced(by: .seconds(2)))
        #expect(disagreements.all == [])
        #expect(book.disagreements == [])
        #expect(book.shared > 100)
        for link in links { link.invalidate() }
    }

    /// The instants of refreshes that the links reported.
    private final class Book: @unchecked Sendable {
        // Sendable: used only on the test's thread, which runs the loops.
        private var instants_ns: [Int64: Int64] = [:]
        private(set) var disagreements: [String] = []
        private(set) var shared = 0

        func note(_ number: Int64, _ timestamp_ns: Int64, by interval: Int) {
            if let before_ns = instants_ns.updateValue(timestamp_ns, forKey: number) {
                shared += 1
                if before_ns != timestamp_ns {
                    disagreements.append("\(interval) at \(number): \(timestamp_ns - before_ns) ns apart")
                }
            }
        }
    }

    @Test("delta is the time between the two refreshes, also across a change of rate", arguments: [1, 2, 5])
    func deltas(_ interval: Int) {
        let virtual = VsyncSource(frameRate: FrameRate(60))
        let steps = Recorder<(delta: Duration, passed: Duration)>()
        let before = Recorder<MonotonicInstant>()
        let link = DisplayLink(source: virtual) { link in
            if let last = before.all.last { steps.append((link.delta, last.duration(to: link.timestamp))) }
            before.append(link.timestamp)
        }
        link.frameInterval = interval
        link.add(to: busy, forMode: .default)
        for rate in [144.0, 50, 24, 120, 60] {
            run(0.2)
            virtual.frameRate = FrameRate(rate)
        }
        run(0.2)
        #expect(steps.count > 10)
        #expect(steps.all.allSatisfy { $0.delta == $0.passed })
        link.invalidate()
    }

    @Test("A call that is due when its link changes still comes, and no refresh gets two calls")
    func changesWhenDue() {
        let numbers = Recorder<Int64>()
        let link = DisplayLink(source: VsyncSource(frameRate: FrameRate(100))) { link in
            numbers.append(link.withState { $0.reported.number } ?? -1)
        }
        link.add(to: busy, forMode: .default)
        let start = time.now
        func at(_ milliseconds: Double) -> MonotonicInstant {
            start.advanced(by: .microseconds(Int64(milliseconds * 1000)))
        }
        time.advance(to: at(11))
        link.preferredFramesPerSecond = 50
        busy.run(until: at(12))
        #expect(numbers.all == [1])
        link.preferredFramesPerSecond = 0
        busy.run(until: at(25))
        #expect(numbers.all == [1, 2])
        link.wakeLead = .fixed(.milliseconds(3))
        busy.run(until: at(29))
        #expect(numbers.all == [1, 2])
        busy.run(until: at(38))
        #expect(numbers.all == [1, 2, 3])
        link.frameInterval = 4
        busy.run(until: at(76))
        #expect(numbers.all == [1, 2, 3])
        busy.run(until: at(78))
        #expect(numbers.all == [1, 2, 3, 4])
        time.advance(to: at(118))
        link.source?.frameRate = FrameRate(50)
        busy.run(until: at(119))
        #expect(numbers.all == [1, 2, 3, 4, 8])
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }
}
