import Dispatch
import FoundationEssentials
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// One way to say a time: each spelling wherever a time is taken. On frozen time.
@Suite struct SpellingTests {
    let time = ManualTime()
    let loop: TimerLoop
    let start: MonotonicInstant
    let log = Recorder<String>()

    init() {
        loop = TimerLoop(time: time.base)
        start = time.now
    }

    private func seconds(_ body: () -> Void) -> Double {
        let before = time.now
        body()
        return Double(before.duration(to: time.now).nanosecondsRoundedUp) / 1e9
    }

    @Test("A length of time is seconds, a duration or Dispatch's interval, literal or not, for timers and runs")
    func lengths() {
        let double = 0.5
        let whole = 2
        let duration = Duration.milliseconds(1500)
        let timers = [
            LoopTimer(timeInterval: 0.25, repeats: true) { _ in },
            LoopTimer(timeInterval: double, repeats: true, tolerance: double / 10) { _ in },
            LoopTimer(timeInterval: 1, repeats: true) { _ in },
            LoopTimer(timeInterval: duration, repeats: true, tolerance: .milliseconds(100)) { _ in },
            LoopTimer(timeInterval: whole, repeats: true) { _ in },
            LoopTimer(timeInterval: .seconds(whole) / 2, repeats: true) { _ in },
            LoopTimer(timeInterval: DispatchTimeInterval.milliseconds(30), repeats: true) { _ in },
        ]
        #expect(timers.map(\.timeInterval) == [0.25, 0.5, 1, 1.5, 2, 1, 0.03])
        #expect(timers.map(\.tolerance) == [0, 0.05, 0, 0.1, 0, 0, 0])
        loop.isKeptAlive = true
        #expect(seconds { loop.run(for: 0.5) } == 0.5)
        #expect(seconds { loop.run(for: duration) } == 1.5)
        #expect(seconds { loop.run(for: .milliseconds(20)) } == 0.02)
        #expect(seconds { loop.run(for: DispatchTimeInterval.seconds(1)) } == 1)
    }

    @Test("A point in time is an instant or a date, for timers and for runs")
    func points() {
        loop.isKeptAlive = true
        let date = Date(timeIntervalSince1970: Double(time.wallNow.nanoseconds) / 1e9 + 3)
        #expect(abs(seconds { loop.run(until: date) } - 3) < 1e-6)
        #expect(seconds { loop.run(until: start + .seconds(4)) } > 0.99)
        #expect(seconds { loop.run(until: .distantPast) } == 0)
        #expect(seconds { loop.run(until: Date(timeIntervalSinceReferenceDate: .nan)) } == 0)
        for timer in [
            LoopTimer(fireAt: start + .seconds(5)) { [log] _ in log.append("instant") },
            LoopTimer(fireAt: date + 10, interval: 0.5, repeats: false) { [log] _ in log.append("date") },
        ] { loop.add(timer, forMode: .default) }
        loop.run(until: start + .seconds(14))
        #expect(log.all == ["instant", "date"])
    }

    @Test("Dispatch's time is a point, too")
    func dispatchTime() {
        let timer = LoopTimer(fireAt: DispatchTime(uptimeNanoseconds: 5_000_000_000)) { _ in }
        #expect(timer.fireInstant == MonotonicInstant(nanoseconds: 5_000_000_000))
        #expect(LoopTimer(fireAt: DispatchTime.distantFuture) { _ in }.fireInstant == .distantFuture)
    }

    @Test("NaN makes an invalid timer wherever it stands, and takes nothing for tolerances and limits")
    func nan() {
        #expect(!LoopTimer(timeInterval: .nan, repeats: true) { _ in }.isValid)
        #expect(!LoopTimer(fireAt: start, interval: .nan, repeats: true) { _ in }.isValid)
        let timer = LoopTimer(timeInterval: 1, repeats: true, tolerance: .nan) { _ in }
        #expect(timer.tolerance == 0)
        timer.setTolerance(.milliseconds(100))
        #expect(timer.tolerance == 0.1)
        timer.setTolerance(2)
        #expect(timer.tolerance == 0.5)
        timer.setTolerance(Double.nan)
        #expect(timer.tolerance == 0)
        loop.isKeptAlive = true
        #expect(seconds { loop.run(for: .nan) } == 0)
        #expect(!loop.perform(afterDelay: .nan) {}.isValid)
    }

    @Test("An infinite interval never fires, and an infinite run has no limit")
    func infinite() {
        let timer = LoopTimer(timeInterval: .infinity, repeats: false) { _ in }
        loop.add(timer, forMode: .default)
        #expect(timer.fireInstant == .distantFuture)
        loop.perform(afterDelay: 100) { [loop] in loop.stop() }
        #expect(loop.run(for: .infinity) == .stopped)
        #expect(time.now == start + .seconds(100))
    }

    @Test("Exclusive timers and carousels take every spelling too")
    func lifecycle() {
        let exclusive = ExclusiveTimer(interval: 0.5, tolerance: 0.01, loop: loop) { [log] _ in log.append("tick") }
        exclusive.start()
        let carousel = AutoAdvance(every: 1, resumingAfter: 2.5, loop: loop) { [log] in log.append("page") }
        loop.run(for: 1)
        // The page was armed before the second tick.
        #expect(log.all == ["tick", "page", "tick"])
        carousel.rest()
        carousel.resume()
        exclusive.stop()
        log.removeAll()
        loop.run(for: 3.5)
        #expect(log.all == ["page", "page"])
        carousel.invalidate()
    }

    @Test("Target and action take every spelling, in each form")
    func targets() {
        final class Target: Sendable {
            let log: Recorder<String>
            init(_ log: Recorder<String>) { self.log = log }
            func tick(_ timer: LoopTimer) { log.append("tick") }
        }
        let target = Target(log)
        let timers = [
            LoopTimer(timeInterval: 0.1, target: target, action: Target.tick, repeats: false),
            LoopTimer(timeInterval: .milliseconds(200), weakTarget: target, action: Target.tick, repeats: false),
            LoopTimer(
                fireAt: start + .milliseconds(300),
                interval: 0,
                target: target,
                action: Target.tick,
                repeats: false
            ),
            LoopTimer(
                fireAt: start + .milliseconds(400),
                interval: 1,
                weakTarget: target,
                action: Target.tick,
                repeats: false
            ),
        ]
        for timer in timers { loop.add(timer, forMode: .default) }
        loop.run()
        #expect(log.count == 4)
        #expect(time.now == start + .milliseconds(400))
    }
}
