// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer

/// Absences in manual time: the tests set what the clocks show.
@Suite struct SuspensionMonitorTests {
    let time = ManualTime()
    let loop: TimerLoop
    let absences = Recorder<SuspensionMonitor.Absence>()
    /// How long the system was suspended, and how far the monitor's sample is ahead of its engine's clock.
    let clocks = Clocks()
    let looks = Recorder<Int>()

    init() {
        loop = TimerLoop(time: time.base)
    }

    private func monitor(on loop: TimerLoop? = nil, noticesStops: Bool = true) throws -> SuspensionMonitor {
        try SuspensionMonitor(
            loop: loop,
            threshold: .milliseconds(200),
            noticesStops: noticesStops,
            time: time.base,
            sample: { [time, clocks, looks] in
                looks.append(1)
                let (suspended, late) = clocks.read()
                return PresenceSample(
                    monotonic_ns: time.now.advanced(by: late).nanoseconds,
                    suspended_ns: suspended.nanosecondsRoundedUp,
                    used_ns: 0,
                    waited_ns: 0
                )
            },
            handler: { [absences] in absences.append($0) }
        )
    }

    private func suspend(for duration: Duration) {
        clocks.change { $0.suspended += duration }
    }

    @Test("The heartbeat comes twice per threshold, and nothing is reported without an absence")
    func heartbeat() throws {
        let monitor = try monitor()
        time.advance(by: .seconds(1))
        #expect(looks.count == 1 + 1 + 10)
        #expect(absences.count == 0)
        monitor.shutdown()
        monitor.shutdown()
        monitor.check()
        time.advance(by: .seconds(1))
        #expect(looks.count == 12)
    }

    @Test("A shutdown frees the handler, even while the monitor is kept")
    func frees() throws {
        let canaries = Canaries()
        let monitor = try SuspensionMonitor(
            loop: nil,
            threshold: .milliseconds(200),
            noticesStops: true,
            time: time.base,
            sample: PresenceSample.now,
            handler: { [canary = canaries.make()] _ in withExtendedLifetime(canary) {} }
        )
        #expect(canaries.count == 1)
        monitor.shutdown()
        #expect(canaries.count == 0)
        monitor.check()
    }

    @Test("The first heartbeat after a stop reports it, on the monitor's thread if there is no loop")
    func stop() throws {
        let monitor = try monitor()
        time.advance(by: .milliseconds(100))
        clocks.change { $0.late = .milliseconds(300) }
        time.advance(by: .milliseconds(100))
        #expect(absences.all.map(\.cause) == [.processStopped])
        #expect(absences.all.map(\.duration) == [.milliseconds(300)])
        #expect(absences.all.map(\.uncertainty) == [.milliseconds(100)])
        time.advance(by: .seconds(1))
        #expect(absences.count == 1)
        monitor.shutdown()
    }

    @Test("With a loop, an absence is reported in a pass of it; the monitor neither retains it nor keeps it running")
    func inLoop() throws {
        weak var gone: TimerLoop?
        var loop: TimerLoop? = TimerLoop(time: time.base)
        gone = loop
        let monitor = try monitor(on: loop)
        loop?.run()
        suspend(for: .seconds(9))
        time.advance(by: .milliseconds(100))
        #expect(absences.count == 0)
        loop?.run()
        #expect(absences.all.map(\.duration) == [.seconds(9)])
        loop = nil
        #expect(gone == nil)
        suspend(for: .seconds(9))
        time.advance(by: .seconds(1))
        #expect(absences.count == 1)
        monitor.shutdown()
    }

    @Test("Without a heartbeat nothing wakes, and check() reports a suspension of the system")
    func check() throws {
        let monitor = try monitor(noticesStops: false)
        time.advance(by: .zero)
        #expect(time.nextDeadline == nil)
        suspend(for: .seconds(2))
        time.advance(by: .seconds(100))
        #expect(absences.count == 0)
        monitor.check()
        time.advance(by: .zero)
        #expect(absences.all.map(\.suspended) == [.seconds(2)])
        #expect(time.nextDeadline == nil)
        monitor.shutdown()
    }

    @Test("A monitor ends with its last reference, and its handler is freed")
    func freed() throws {
        let canaries = Canaries()
        do {
            let canary = canaries.make()
            let monitor = try SuspensionMonitor { _ in withExtendedLifetime(canary) {} }
            monitor.check()
        }
        #expect(canaries.count == 0)
    }

    /// Returns the calls of a timer every 100 ms: the time of each in ms and its missed ticks. The system is suspended for
    /// 1020 ms after 50 ms.
    private func callsAfterSuspension(_ policy: MissedTickPolicy, makesUp: Bool = true) throws -> [[Int]] {
        let start = time.now
        let calls = Recorder<[Int]>()
        let timer = LoopTimer(timeInterval: .milliseconds(100), repeats: true, policy: policy) { [time] timer in
            calls.append([Int((time.now.nanoseconds - start.nanoseconds) / 1_000_000), timer.missedTicks])
        }
        loop.add(timer, forMode: .default)
        let monitor = try monitor()
        if makesUp {
            monitor.makeUp(timer)
            monitor.makeUp(timer)
        }
        loop.run(until: start.advanced(by: .milliseconds(50)))
        suspend(for: .milliseconds(1020))
        monitor.check()
        loop.run(until: start.advanced(by: .milliseconds(250)))
        timer.invalidate()
        monitor.shutdown()
        return calls.all
    }

    @Test("A timer that makes up for suspended time does so once, by its own policy, and keeps its grid")
    func makesUp() throws {
        // At 50 ms the clock that counts suspension reads 1070 ms: the deadlines 100 ... 1000 have passed, and the next one is
        // 30 ms away.
        #expect(try callsAfterSuspension(.merge) == [[50, 9], [80, 0], [180, 0]])
        #expect(try callsAfterSuspension(.skip) == [[80, 10], [180, 0]])
        #expect(try callsAfterSuspension(.delay) == [[50, 0], [150, 0], [250, 0]])
        let burst = try callsAfterSuspension(.burst)
        #expect(burst == [[Int]](repeating: [50, 0], count: 10) + [[80, 0], [180, 0]])
    }

    @Test("A suspension that is noticed while a timer's handler runs counts for that timer, in the next call")
    func noticedInHandler() throws {
        for (policy, expected) in [
            (MissedTickPolicy.merge, [[100, 0], [100, 9], [180, 0], [280, 0]]),
            (.skip, [[100, 0], [180, 10], [280, 0]]),
            // The pause begins when the handler returns, which is after the suspension.
            (.delay, [[100, 0], [200, 0]]),
            (.burst, [[100, 0]] + [[Int]](repeating: [100, 0], count: 10) + [[180, 0], [280, 0]]),
        ] {
            for movesItself in [false, true] {
                let calls = try callsAfterSuspensionInHandler(policy, movesItself: movesItself)
                // A timer that its handler moves to 300 ms from the call begins a grid of its own, 720 ms ago, which has a tick at
                // 180 ms. `.skip` leaves out the calls that would be late by an interval.
                let second_ms = policy == .skip ? 180 : 100
                if movesItself { #expect(calls.prefix(2).map(\.first) == [100, second_ms], "\(policy)") }
                if !movesItself { #expect(calls == expected, "\(policy)") }
            }
        }
    }

    private func callsAfterSuspensionInHandler(_ policy: MissedTickPolicy, movesItself: Bool) throws -> [[Int]] {
        let start = time.now
        let calls = Recorder<[Int]>()
        let monitor = try monitor()
        let suspend = { @Sendable [clocks] in clocks.change { $0.suspended += .milliseconds(1020) } }
        let timer = LoopTimer(timeInterval: .milliseconds(100), repeats: true, policy: policy) { [time] timer in
            calls.append([Int((time.now.nanoseconds - start.nanoseconds) / 1_000_000), timer.missedTicks])
            guard calls.count == 1 else { return }
            if movesItself { timer.fireInstant = time.now.advanced(by: .milliseconds(300)) }
            suspend()
            monitor.check()
            // The monitor's engine fires; 1 ns is lost in milliseconds.
            time.advance(by: .nanoseconds(1))
        }
        loop.add(timer, forMode: .default)
        monitor.makeUp(timer)
        loop.run(until: start.advanced(by: .milliseconds(290)))
        timer.invalidate()
        monitor.shutdown()
        return calls.all
    }

    @Test("A timer that several threads pass to makeUp(_:) at once makes up only once")
    func namedByManyThreads() async throws {
        let monitor = try monitor()
        let start = time.now
        let timers = (0..<300).map { _ in LoopTimer(timeInterval: 3600, repeats: true, time: time.base) { _ in } }
        for timer in timers { loop.add(timer, forMode: .default) }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 { group.addTask { for timer in timers { monitor.makeUp(timer) } } }
        }
        suspend(for: .seconds(100))
        time.advance(by: .seconds(1))
        #expect(timers.allSatisfy { $0.fireInstant == start.advanced(by: .seconds(3500)) })
        for timer in timers { timer.invalidate() }
        monitor.shutdown()
    }

    @Test("A timer not passed to makeUp(_:) counts on the clock that stood still; a paused one stays paused")
    func doesNotMakeUp() throws {
        #expect(try callsAfterSuspension(.merge, makesUp: false) == [[100, 0], [200, 0]])
        let monitor = try monitor()
        let paused = LoopTimer(timeInterval: .seconds(1), repeats: true) { _ in Issue.record("fired") }
        loop.add(paused, forMode: .default)
        paused.fireInstant = .distantFuture
        monitor.makeUp(paused)
        suspend(for: .seconds(100))
        time.advance(by: .seconds(1))
        loop.run(until: time.now.advanced(by: .seconds(5)))
        #expect(absences.all.last?.suspended == .seconds(100))
        #expect(paused.fireInstant == .distantFuture)
        paused.invalidate()
        monitor.shutdown()
    }
}

/// The readings of the clocks that the manual time does not have.
final class Clocks: Sendable {
    private let shown = Locked((suspended: Duration.zero, late: Duration.zero))

    func read() -> (suspended: Duration, late: Duration) { shown.withLock { $0 } }

    func change(_ body: (inout (suspended: Duration, late: Duration)) -> Void) { shown.withLock { body(&$0) } }
}
