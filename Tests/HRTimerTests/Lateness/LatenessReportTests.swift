// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests of why fires are late, on frozen time, as far as the library knows by its own clock.
@Suite struct LatenessReportTests {
    let time = ManualTime()
    let engine: TimerEngine
    let start: MonotonicInstant
    let reports = Recorder<LatenessReport>()

    init() throws {
        engine = try TimerEngine(.init(name: "late", time: time.base))
        start = time.now
    }

    private func at(_ milliseconds: Int) -> MonotonicInstant { start.advanced(by: .milliseconds(milliseconds)) }

    private func parts(_ report: LatenessReport?) -> [LatenessCause: Duration] {
        report?.byCause ?? [:]
    }

    @Test("The report of a timer that another handler delayed says which handler, and until when it ran")
    func handlerBefore() throws {
        engine.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        let slow = engine.schedule(at: at(10)) { [time] _ in time.advance(by: .milliseconds(2)) }
        let late = engine.schedule(at: at(10)) { _ in }
        time.advance(to: at(20))
        let report = try #require(reports.all.first)
        #expect(reports.count == 1)
        #expect(report.name == "late")
        #expect(report.timer == late)
        #expect(report.deadline == at(10))
        #expect(report.called == at(12))
        #expect(report.woken == at(10))
        #expect(report.armed == start)
        #expect(report.lateness == .milliseconds(2))
        #expect(parts(report) == [.handlerBefore: .milliseconds(2)])
        #expect(report.handlerBefore?.timer == slow)
        #expect(report.handlerBefore?.began == at(10))
        #expect(report.handlerBefore?.until == at(12))
        #expect(report.mainCause == .handlerBefore)
        #expect(report.byCause[.handlerBefore] == .milliseconds(2))
        #expect(report.byCause[.wakeup] == nil)
        #expect(
            report.description
                == "late timer \(late.slot): 2 ms late: 2 ms handlerBefore (a call of 2 ms, timer \(slow.slot))"
        )
    }

    @Test("A repeating timer counts as armed from the end of its own previous call")
    func armed() {
        engine.onLate(beyond: .zero) { [reports] in reports.append($0) }
        engine.schedule(at: at(10), every: .milliseconds(10)) { [time] fire in
            if fire.deadline == at(20) { time.advance(by: .milliseconds(1)) }
        }
        engine.schedule(at: at(20).advanced(by: .microseconds(500)), every: .milliseconds(10)) { _ in }
        time.advance(to: at(25))
        #expect(reports.all.map(\.armed) == [start])
        engine.onLate(beyond: .zero) { _ in }
        engine.schedule(at: at(30)) { [time] _ in time.advance(by: .milliseconds(3)) }
        time.advance(to: at(40))
        #expect(reports.all.last?.armed == at(21))
    }

    @Test("A deadline that has passed when it is armed is late by that; a deadline that means now is not")
    func armedLate() {
        engine.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        time.advance(to: at(10))
        engine.schedule(at: at(5)) { _ in }
        engine.schedule(at: .distantPast) { _ in }
        time.advance(to: at(11))
        #expect(reports.all.map(parts) == [[.armedLate: .milliseconds(5)]])
    }

    @Test(
        "A wall clock that is set past a deadline makes it late, and so does suspend on clocks that count it"
    )
    func clocks() throws {
        let wall = try WallTimerEngine(.init(time: time.base))
        wall.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        wall.schedule(at: time.wallNow.advanced(by: .seconds(10))) { _ in }
        time.setWall(to: time.wallNow.advanced(by: .seconds(3610)))
        #expect(reports.all.map { $0.mainCause } == [.clockStep])
        #expect(reports.all[0].lateness == .seconds(3600))
        #expect(reports.all[0].byCause[.clockStep, default: .zero] >= .seconds(3600) - .microseconds(1))
        reports.removeAll()
        let boot = try BootTimeTimerEngine(.init(time: time.base))
        boot.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        boot.schedule(at: time.bootTimeNow.advanced(by: .seconds(10))) { _ in }
        wall.schedule(at: time.wallNow.advanced(by: .seconds(10))) { _ in }
        time.suspendSystem(for: .seconds(70))
        #expect(reports.all.map { $0.mainCause } == [.suspended, .suspended])
        #expect(reports.all.allSatisfy { $0.lateness == .seconds(60) })
    }

    @Test("A fire within its tolerance is reported as late on purpose")
    func tolerance() throws {
        let engine = try TimerEngine(.init(precision: .coalesced, time: time.base))
        engine.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        engine.schedule(at: at(10), tolerance: .milliseconds(7)) { _ in }
        time.advance(to: at(30))
        #expect(reports.all.map(parts) == [[.tolerance: .milliseconds(7)]])
    }

    @Test("Statistics add up the reports by cause; before the first watch there is nothing")
    func statistics() {
        #expect(engine.statistics.lateness == LatenessStatistics())
        let subscription = engine.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        func twoLate() {
            let now = time.now
            engine.schedule(at: now.advanced(by: .milliseconds(1))) { [time] _ in time.advance(by: .milliseconds(5)) }
            engine.schedule(at: now.advanced(by: .milliseconds(2))) { _ in }
            engine.schedule(at: now.advanced(by: .milliseconds(3))) { _ in }
            time.advance(by: .milliseconds(10))
        }
        twoLate()
        #expect(engine.statistics.lateness.lateFires == 2)
        #expect(engine.statistics.lateness.total == .milliseconds(7))
        #expect(engine.statistics.lateness.byCause == [.handlerBefore: .milliseconds(7)])
        subscription.cancel()
        subscription.cancel()
        twoLate()
        #expect(reports.count == 2)
        #expect(engine.statistics.lateness.lateFires == 4)
    }

    @Test("Each of several watches has its own bound; a handler may shut the engine down and cancel its watch")
    func severalWatches() {
        let counts = Recorder<Int>()
        engine.onLate(beyond: .milliseconds(1)) { _ in counts.append(1) }
        let mine = Recorder<LatenessSubscription>()
        mine.append(
            engine.onLate(beyond: .milliseconds(3)) { [engine] _ in
                counts.append(3)
                mine.all[0].cancel()
                engine.shutdown()
            }
        )
        engine.onLate(beyond: .milliseconds(100)) { _ in counts.append(100) }
        for milliseconds in [10, 20] {
            engine.schedule(at: at(milliseconds)) { [time] _ in time.advance(by: .milliseconds(milliseconds / 5)) }
            engine.schedule(at: at(milliseconds)) { _ in }
            engine.schedule(at: at(milliseconds)) { _ in }
        }
        time.advance(to: at(50))
        #expect(counts.all == [1, 1, 1, 3])
    }

    @Test("A fire that is late by exactly a watch's bound is not beyond it")
    func exactlyTheBound() {
        let told = Recorder<Int>()
        for bound in [1, 2] { engine.onLate(beyond: .milliseconds(bound)) { _ in told.append(bound) } }
        engine.schedule(at: at(10)) { [time] _ in time.advance(by: .milliseconds(2)) }
        engine.schedule(at: at(10)) { _ in }
        time.advance(to: at(20))
        #expect(told.all == [1])
    }

    @Test("A watch's handler and its captures are freed when the watch is cancelled, and when the engine is gone")
    func letsGo() throws {
        final class Canary: Sendable {}
        var canary: Canary? = Canary()
        weak let weakCanary = canary
        var engine: TimerEngine? = try TimerEngine(.init(time: time.base))
        let first = engine?.onLate(beyond: .zero) { [canary] _ in withExtendedLifetime(canary) {} }
        engine?.onLate(beyond: .zero) { _ in }
        canary = nil
        #expect(weakCanary != nil)
        first?.cancel()
        #expect(weakCanary == nil)
        engine = nil
        first?.cancel()
    }
}
