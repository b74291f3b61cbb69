// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer

/// Tests of a link on the refreshes that a fake compositor reports for a surface, on frozen time.
@Suite struct SurfaceSourceTests {
    let time = ManualTime()
    let loop: TimerLoop
    let ticks = Recorder<MonotonicInstant>()

    init() {
        loop = TimerLoop(time: time.base)
    }

    private func display(_ framesPerSecond: Double, _ commits: SurfaceCommits) throws -> FakeDisplay {
        let display = try FakeDisplay(framesPerSecond, time, loop)
        display.commits = commits
        return display
    }

    /// Returns a link whose handler draws, which matters if the application makes the commits.
    private func link(_ source: VsyncSource, draws: Bool = true) -> DisplayLink {
        let link = DisplayLink(source: source) { [ticks] link in
            ticks.append(link.timestamp)
            if draws { link.source?.willCommit() }
        }
        link.add(to: loop, forMode: .default)
        return link
    }

    private func run(_ seconds: Double) {
        loop.run(until: time.now.advanced(by: .nanoseconds(Int64(seconds * 1e9))))
    }

    @Test(
        "A surface's refreshes are found by the application's commits or the source's own, and none is asked for twice",
        arguments: [40.0, 60, 144],
        [SurfaceCommits.application, .source]
    )
    func follows(_ rate: Double, _ commits: SurfaceCommits) throws {
        let display = try display(rate, commits)
        let source = display.source()
        let link = link(source)
        run(3)
        #expect(source.state == .locked)
        #expect(abs(source.framesPerSecond - rate) < rate * 1e-6)
        ticks.removeAll()
        let before = display.requests_ns.count
        run(1)
        // If an answer comes after the next call began, only the call after that can make a request.
        #expect((Int(rate) / 2 - 1...Int(rate) + 1).contains(display.requests_ns.count - before))
        #expect(ticks.all.allSatisfy { display.error_ns($0) <= 2 })
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }

    @Test(
        "However an application starts, and however long it draws, a display without a count is locked at its own rate only",
        arguments: [29.97, 24, 30, 40, 50, 59.94, 60]
    )
    func anyStart(_ rate: Double) throws {
        var random = SeededRandom.fromEnvironment()
        var locked = 0
        for start in 0..<25 {
            let display = try display(rate, .application)
            display.countsRefreshes = false
            display.phase_ns = Double.random(in: 0..<1e9 / rate, using: &random)
            let drawing = Duration.nanoseconds(Int64.random(in: 0..<15_000_000, using: &random))
            let source = display.source()
            var wrong: Set<Double> = []
            let link = DisplayLink(source: source) { [time] link in
                time.advance(by: drawing)
                link.source?.willCommit()
            }
            link.add(to: loop, forMode: .default)
            for _ in 0..<400 {
                run(0.01)
                let found = source.framesPerSecond
                if source.state == .locked, abs(found / rate - 1) > 1e-3 { wrong.insert((found * 10).rounded() / 10) }
            }
            // HRTIMER_SEED=411572789 at 60 Hz: where a drawing misses each second refresh, half the rate is learnt, and learnt
            // again from the samples that lie in the middle of its grid, though they say that it is half.
            let isHalved = wrong == [(rate * 5).rounded() / 10]
            withKnownIssue("a display is taken for one of half its rate", isIntermittent: true) {
                #expect(wrong.isEmpty, "start \(start), drawing for \(drawing)")
                // Some drawings cannot be told from those for each second refresh of twice the rate: see `VsyncModel.mayBeDoubled`.
                #expect([.locked, .learning].contains(source.state))
            } matching: { _ in
                isHalved
            }
            locked += wrong.isEmpty && source.state == .locked ? 1 : 0
            link.invalidate()
        }
        #expect(locked >= 15)
    }

    @Test("A link for every second refresh commits for those only, and the display keeps its rate")
    func divided() throws {
        let display = try display(60, .application)
        let source = display.source()
        let link = link(source)
        link.frameInterval = 2
        run(10)
        #expect(abs(source.framesPerSecond - 60) < 1e-3)
        ticks.removeAll()
        run(1)
        #expect(abs(ticks.count - 30) <= 1)
        #expect(source.statistics.missed == 0)
        link.invalidate()
    }

    /// Returns the rate that is found when a display becomes slower while it is learnt, and the rate that is found when the link
    /// then draws for each refresh.
    private func becomesSlower(
        _ rates: (before: Double, after: Double),
        interval: Int,
        learning_ms: Int,
        counts: Bool
    ) throws -> (found: Double, drawingEach: Double) {
        let display = try display(rates.before, .application)
        display.countsRefreshes = counts
        let source = display.source()
        let link = link(source)
        link.frameInterval = interval
        run(0.1 + Double(learning_ms) / 1000)
        display.setRate(rates.after)
        run(6)
        let found = source.framesPerSecond
        link.frameInterval = 1
        run(2)
        defer { link.invalidate() }
        return (found, source.framesPerSecond)
    }

    @Test(
        "A display that becomes slower while its surface is learnt is not taken for one of the former rate",
        arguments: [(70.34, 35.17), (120, 30), (60, 30)]
    )
    func becomesSlower(_ before: Double, _ after: Double) throws {
        for (interval, learning_ms) in (1...3).flatMap({ interval in (0..<6).map { (interval, 28 * $0) } }) {
            let rates = try becomesSlower((before, after), interval: interval, learning_ms: learning_ms, counts: true)
            #expect(abs(rates.found / after - 1) < 1e-3, "interval \(interval), after \(learning_ms) ms")
        }
    }

    @Test(
        "Without a count, a link for each refresh finds that a display becomes slower",
        arguments: [
            (70.34, 35.17), (120, 60), (120, 40), (120, 30),
        ]
    )
    func becomesSlowerUncounted(_ before: Double, _ after: Double) throws {
        for learning_ms in stride(from: 0, to: 300, by: 35) {
            let rates = try becomesSlower((before, after), interval: 1, learning_ms: learning_ms, counts: false)
            #expect(abs(rates.found / after - 1) < 1e-3, "after \(learning_ms) ms")
        }
    }

    @Test(
        "Without a count, drawing late for each refresh looks like drawing for each second one at twice the rate"
    )
    func looksDoubled() throws {
        var found: Set<Double> = []
        for learning_ms in stride(from: 203, to: 300, by: 7) {
            let rates = try becomesSlower((70.34, 35.17), interval: 2, learning_ms: learning_ms, counts: false)
            found.insert((rates.found * 100).rounded() / 100)
            #expect(abs(rates.drawingEach / 35.17 - 1) < 1e-3, "after \(learning_ms) ms")
        }
        #expect(found == [35.17, 70.34])
    }

    @Test("While nothing is drawn nothing is asked; calls go on, and the surface does not count as hidden")
    func still() throws {
        let display = try display(60, .application)
        let source = display.source()
        source.whenHidden = .stop
        let drawing = link(source)
        run(2)
        drawing.invalidate()
        let link = link(source, draws: false)
        ticks.removeAll()
        run(0.1)
        let before = display.requests_ns.count
        run(10)
        #expect(display.requests_ns.count == before)
        #expect(!source.isHidden)
        #expect(source.state == .lost)
        #expect(abs(ticks.count - 606) <= 1)
        source.willCommit()
        run(0.1)
        #expect(display.requests_ns.count == before + 1)
        link.invalidate()
    }

    @Test(
        "A hidden surface has calls as before, once a second, or none, as chosen, and no burst when it is shown again",
        arguments: [VsyncSource.WhenHidden.full, .rate(FrameRate(1)), .stop]
    )
    func hidden(_ choice: VsyncSource.WhenHidden) throws {
        let display = try display(60, .application)
        let source = display.source()
        source.whenHidden = choice
        let link = link(source)
        run(2)
        display.mood = .silent
        run(0.5)
        #expect(source.state == .coasting)
        #expect(!source.isHidden)
        run(2.5)
        #expect(source.isHidden)
        #expect(source.state == .lost)
        ticks.removeAll()
        let before = display.requests_ns.count
        run(10)
        switch choice {
        case .full: #expect(abs(ticks.count - 600) <= 1)
        case .rate: #expect(abs(ticks.count - 10) <= 1)
        case .stop: #expect(ticks.count == 0)
        }
        #expect(abs(source.framesPerSecond - (choice == .full ? 60 : 1)) < 0.01)
        // The pending request stays the only one.
        #expect(display.requests_ns.count == before)
        ticks.removeAll()
        display.show()
        run(0.05)
        #expect(!source.isHidden)
        #expect(ticks.count >= 1)
        run(2)
        #expect(source.state == .locked)
        #expect(abs(ticks.count - 123) <= 2)
        let steps_ns = zip(ticks.all, ticks.all.dropFirst()).map { $1.nanoseconds - $0.nanoseconds }
        #expect(steps_ns.allSatisfy { $0 > 8_333_333 })
        #expect(ticks.all.suffix(5).allSatisfy { display.error_ns($0) <= 2 })
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }

    @Test("A choice made while the surface is hidden applies at once, also for links that come later")
    func chosenLater() throws {
        let display = try display(60, .application)
        let source = display.source()
        let first = link(source)
        run(2)
        display.mood = .silent
        run(3)
        source.whenHidden = .stop
        let second = link(source)
        ticks.removeAll()
        run(5)
        #expect(ticks.count == 0)
        source.whenHidden = .rate(FrameRate(10))
        run(5)
        #expect((98...102).contains(ticks.count))
        source.whenHidden = .full
        ticks.removeAll()
        run(1)
        #expect((118...122).contains(ticks.count))
        first.invalidate()
        second.invalidate()
    }

    @Test("Calls coast through a gap of two seconds and more, as of a switch to another virtual terminal")
    func gap() throws {
        let display = try display(60, .application)
        let source = display.source()
        let link = link(source)
        run(2)
        display.mood = .silent
        run(2.367)
        display.show()
        run(1)
        #expect(source.state == .locked)
        let steps_ns = zip(ticks.all, ticks.all.dropFirst()).map { $1.nanoseconds - $0.nanoseconds }
        #expect(steps_ns.allSatisfy { (15_800_000...17_500_000).contains($0) })
        #expect(ticks.all.suffix(5).allSatisfy { display.error_ns($0) <= 2 })
        #expect(link.droppedFrames == 0)
        link.invalidate()
    }

    @Test("When the compositor ends, calls go on, even those that were held, and nothing is reopened by itself")
    func ends() throws {
        let display = try display(60, .application)
        let source = display.source()
        source.whenHidden = .stop
        let link = link(source)
        run(2)
        display.mood = .silent
        run(5)
        ticks.removeAll()
        display.die()
        run(10)
        #expect(source.state == .lost)
        #expect(source.statistics.losses == 1)
        #expect(abs(ticks.count - 600) <= 2)
        link.invalidate()
    }

    @Test("A detached source asks nothing more and counts no loss, and its links go on")
    func detached() throws {
        let display = try display(60, .application)
        let source = display.source()
        let link = link(source)
        run(2)
        source.detach()
        source.detach()
        #expect(display.isDetached)
        let before = display.requests_ns.count
        ticks.removeAll()
        run(2)
        #expect(display.requests_ns.count == before)
        #expect(source.statistics.losses == 0)
        #expect(source.state == .lost)
        #expect(abs(ticks.count - 120) <= 1)
        source.hasOpened(try self.display(75, .application))
        run(3)
        #expect(source.state == .locked)
        #expect(abs(source.framesPerSecond - 75) < 1e-3)
        link.invalidate()
    }

    @Test("Sources of other kinds have no surface to commit, to detach, or to be hidden")
    func otherKinds() throws {
        let display = try FakeDisplay(60, time, loop)
        let source = display.source()
        source.whenHidden = .stop
        source.willCommit()
        source.detach()
        let link = link(source)
        run(2)
        #expect(source.state == .locked)
        display.mood = .silent
        run(10)
        #expect(!source.isHidden)
        #expect(ticks.count > 700)
        link.invalidate()
    }
}
