// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Dispatch
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests of what is told of ticks that the policy `.skip` leaves out, in every face, on frozen time. A stall of 50 ms at 1 kHz
/// loses 50 ticks: that of 1 ms is called 50 ms late, or left out.
@Suite("Ticks that .skip leaves out") struct LeftOutTickTests {
    let time = ManualTime()
    let start: MonotonicInstant
    let reports = Recorder<LatenessReport>()
    let engine: TimerEngine

    init() throws {
        start = time.now
        engine = try TimerEngine(.init(name: "late", time: time.base))
    }

    private func at(_ milliseconds: Int) -> MonotonicInstant { start.advanced(by: .milliseconds(milliseconds)) }

    /// Checks the report of a stall between `begun` and 51 ms, in which the ticks from `first` on were left out.
    private func check(_ report: LatenessReport?, first: Int, missed: Int, _ cause: LatenessCause) {
        #expect(report?.deadline == at(first))
        #expect(report?.called == at(51))
        #expect(report?.lateness == .milliseconds(51 - first))
        #expect(report?.missedTicks == missed)
        #expect(report?.isLeftOut == true)
        #expect(report?.mainCause == cause)
        #expect(report?.byCause.values.reduce(.zero, +) == report?.lateness)
        #expect(report?.description.contains("\(missed) ticks left out") == true)
    }

    @Test(
        "are reported by the engine, with their number and cause, and are in the recorder's dump",
        arguments: [true, false]
    )
    func engineTimers(hasOther: Bool) {
        let recorder = FlightRecorder()
        engine.flightRecorder = recorder
        engine.onLate(beyond: .microseconds(100)) { [reports] in reports.append($0) }
        let calls = Recorder<TimerFire>()
        let token = engine.schedule(at: at(1), every: .milliseconds(1), policy: .skip) { calls.append($0) }
        // The engine is busy without a break, or it parks after the stall.
        if hasOther { engine.schedule(at: at(51)) { _ in } }
        engine.schedule(at: at(1)) { [time] _ in time.advance(by: .milliseconds(50)) }
        time.advance(to: at(60))
        #expect(calls.all.map(\.deadline) == [at(1)] + (52...60).map(at))
        #expect(calls.all.map(\.missedTicks) == [0, 50] + (53...60).map { _ in 0 })
        let leftOut = reports.all.filter(\.isLeftOut)
        #expect(leftOut.count == 1)
        check(leftOut.first, first: 2, missed: 50, .handlerBefore)
        #expect(leftOut.first?.timer == token)
        #expect(leftOut.first?.handlerBefore?.until == at(51))
        let late = recorder.records.filter { $0.kind >= 16 && $0.slot == token.slot }
        #expect(late.map(\.value).reduce(0, +) == 49_000_000)
        #expect(engine.statistics.lateness.byCause[.handlerBefore] == .milliseconds(49))
        #expect(engine.statistics.missedTicks == 50)
    }

    @Test("are told to the engine's lateness watch too")
    func watch() throws {
        let seen = Recorder<TimerFire>()
        let watch = TimerEngine.LatenessWatch(bound: .milliseconds(1)) { seen.append($0) }
        var configuration = TimerEngine.Configuration(time: time.base)
        configuration.latenessWatch = watch
        let engine = try TimerEngine(configuration)
        engine.schedule(at: at(1), every: .milliseconds(1), policy: .skip) { _ in }
        engine.schedule(at: at(1)) { [time] _ in time.advance(by: .milliseconds(50)) }
        time.advance(to: at(60))
        #expect(seen.all.map(\.deadline) == [at(2)])
        #expect(seen.all.map(\.firedAt) == [at(51)])
        #expect(seen.all.map(\.missedTicks) == [50])
    }

    @Test("are reported once, and nothing is reported if they are within the bound or nobody watches any more")
    func bounds() {
        let subscription = engine.onLate(beyond: .milliseconds(60)) { [reports] in reports.append($0) }
        engine.schedule(at: at(1), every: .milliseconds(1), policy: .skip) { _ in }
        engine.schedule(at: at(1)) { [time] _ in time.advance(by: .milliseconds(50)) }
        time.advance(to: at(60))
        #expect(reports.all.isEmpty)
        subscription.cancel()
        engine.schedule(at: at(61)) { [time] _ in time.advance(by: .milliseconds(100)) }
        time.advance(to: at(200))
        #expect(reports.all.isEmpty)
    }

    @Test("are reported by the loop, whatever kept it from its timers")
    func loopTimers() {
        let loop = TimerLoop(time: time.base)
        loop.onLate(beyond: .microseconds(100)) { [reports] in reports.append($0) }
        let calls = Recorder<Int>()
        let interval = Duration.milliseconds(1)
        let timer = LoopTimer(fireAt: at(1), interval: interval, repeats: true, policy: .skip) { timer in
            calls.append(timer.missedTicks)
        }
        loop.add(timer, forMode: .default)
        loop.add(
            LoopTimer(fireAt: at(1)) { [time] _ in time.advance(by: .milliseconds(50)) },
            forMode: .default
        )
        loop.run(until: at(60))
        #expect(calls.all.prefix(2) == [0, 50])
        check(reports.all.first { $0.isLeftOut }, first: 2, missed: 50, .handlerBefore)
        let before = reports.count
        time.advance(by: .milliseconds(50))
        loop.run(for: .milliseconds(5))
        let ofBusyLoop = reports.all.dropFirst(before).filter(\.isLeftOut)
        #expect(ofBusyLoop.map(\.mainCause) == [.loopBusy])
        #expect(ofBusyLoop.map(\.missedTicks).first.map { $0 >= 49 } == true)
    }

    @Test("are reported by a source on the engine's thread to its own watch and the engine's")
    func inlineSource() {
        let ofEngine = Recorder<LatenessReport>()
        engine.onLate(beyond: .microseconds(100)) { ofEngine.append($0) }
        let source = TimerSource(engine: engine)
        source.policy = .skip
        source.onLate(beyond: .microseconds(100)) { [reports] in reports.append($0) }
        source.setEventHandler {}
        source.schedule(deadline: at(1), repeating: .milliseconds(1))
        source.activate()
        engine.schedule(at: at(1)) { [time] _ in time.advance(by: .milliseconds(50)) }
        time.advance(to: at(60))
        check(reports.all.first { $0.isLeftOut }, first: 2, missed: 50, .handlerBefore)
        #expect(reports.all.first { $0.isLeftOut }?.name == "source on late")
        check(ofEngine.all.first { $0.isLeftOut }, first: 2, missed: 50, .handlerBefore)
        source.cancel()
    }

    @Test(
        "are reported by a source whose own handler stalls, on the engine's thread and on a queue",
        arguments: [true, false]
    )
    func ownHandler(isOnQueue: Bool) {
        let queue = DispatchQueue(label: "slow")
        let source = isOnQueue ? TimerSource(engine: engine, queue: queue) : TimerSource(engine: engine)
        source.policy = .skip
        source.onLate(beyond: .microseconds(100)) { [reports] in reports.append($0) }
        let calls = Recorder<MonotonicInstant>()
        source.setEventHandler { [time] in
            if calls.count == 0 { time.advance(by: .milliseconds(50)) }
            calls.append(time.now)
        }
        source.schedule(deadline: at(1), repeating: .milliseconds(1))
        source.activate()
        time.advance(to: at(1))
        for _ in 0..<3 {
            queue.sync {}
            time.advance(by: .zero)
        }
        check(reports.all.first { $0.isLeftOut }, first: 2, missed: 50, .handlerBefore)
        #expect(calls.all == [at(51)])
        source.cancel()
    }

    @Test("are reported by a sequence whose consumer stalls")
    func ticks() async {
        let clock = MonotonicClock(engine: engine)
        let ticks = clock.ticks(every: .milliseconds(1), first: at(1), policy: .skip)
        ticks.onLate(beyond: .microseconds(100)) { [reports] in reports.append($0) }
        async let moved: Void = {
            for instant in [1, 52] {
                while engine.liveTimers != 1 { await Task.yield() }
                time.advance(to: at(instant))
            }
        }()
        var seen: [MonotonicInstant] = []
        for await tick in ticks {
            seen.append(tick.deadline)
            if seen.count == 2 { break }
            time.advance(by: .milliseconds(50))
        }
        await moved
        #expect(seen == [at(1), at(52)])
        check(reports.all.first { $0.isLeftOut }, first: 2, missed: 50, .handlerBefore)
        #expect(reports.all.filter(\.isLeftOut).count == 1)
    }

    @Test("are not what a late call reports: that one says how many ticks it merges")
    func merged() {
        engine.onLate(beyond: .milliseconds(1)) { [reports] in reports.append($0) }
        engine.schedule(at: at(1), every: .milliseconds(1), policy: .merge) { _ in }
        engine.schedule(at: at(1)) { [time] _ in time.advance(by: .milliseconds(50)) }
        time.advance(to: at(60))
        #expect(reports.all.map(\.missedTicks) == [49])
        #expect(reports.all.map(\.isLeftOut) == [false])
    }
}
