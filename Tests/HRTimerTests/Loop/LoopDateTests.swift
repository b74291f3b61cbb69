// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Foundation's `Date` in the API. The wall clock is the virtual one, except for timers that are in no loop yet.
@Suite struct LoopDateTests {
    let time = ManualTime()
    let loop: TimerLoop
    let log = Recorder<String>()

    init() {
        loop = TimerLoop(time: time.base)
    }

    /// Returns what the virtual wall clock will read in that many seconds.
    private func wall(_ seconds: Double = 0) -> Date {
        let now_ns = time.wallNow.nanoseconds
        let (whole, rest_ns) = now_ns.quotientAndRemainder(dividingBy: 1_000_000_000)
        return Date(timeIntervalSince1970: Double(whole) + Double(rest_ns) / 1e9 + seconds)
    }

    private func timer(_ date: Date, interval: Double = 0, repeats: Bool = false) -> LoopTimer {
        LoopTimer(fireAt: date, interval: interval, repeats: repeats) { [log] _ in log.append("tick") }
    }

    @Test("A given date reads back to the bit, before and after the timer is added")
    func readsBack() {
        let date = Date(timeIntervalSinceNow: 1234.567)
        let timer = timer(date)
        #expect(timer.fireDate == date)
        timer.fireDate = date.addingTimeInterval(0.25)
        #expect(timer.fireDate == date.addingTimeInterval(0.25))
        TimerLoop().add(timer, forMode: .default)
        let other = self.timer(date)
        loop.add(other, forMode: .default)
        #expect(other.fireDate == date)
    }

    @Test("A date that was given to a timer in no loop reads back to the bit after the wall clock has moved")
    func readsBackLater() throws {
        let engine = try TimerEngine(.init(time: time.base))
        let date = wall(1234.567)
        let timers = Recorder<LoopTimer>()
        let dates = Recorder<Date>()
        // In handlers, where this time is the current one.
        engine.schedule(after: .seconds(1)) { [self] _ in timers.append(timer(date)) }
        engine.schedule(after: .seconds(2)) { _ in dates.append(timers.all[0].fireDate) }
        time.advance(by: .seconds(1))
        time.setWall(to: time.wallNow.advanced(by: .milliseconds(5)))
        time.advance(by: .seconds(1))
        #expect(dates.all == [date])
    }

    @Test("The date of an instant stays while the wall clock moves by less than 10 ms, and follows it from there")
    func steps() {
        let timer = LoopTimer(fireAt: time.now.advanced(by: .seconds(5)), interval: .zero, repeats: false) { _ in }
        loop.add(timer, forMode: .default)
        let (date, start) = (timer.fireDate, time.wallNow)
        time.setWall(to: start.advanced(by: .milliseconds(10) - .nanoseconds(1)))
        #expect(timer.fireDate == date)
        time.setWall(to: start.advanced(by: .milliseconds(10)))
        #expect(abs(timer.fireDate.timeIntervalSince(date) - 0.01) < 1e-6)
    }

    @Test("distantFuture never fires and reads back unchanged (CF: 2129), and a nearer date resumes the timer")
    func distantFuture() {
        let timer = timer(.distantFuture)
        loop.add(timer, forMode: .default)
        #expect(timer.fireDate == .distantFuture)
        loop.run(until: time.now.advanced(by: .seconds(1_000_000_000)))
        #expect(log.count == 0)
        timer.fireDate = wall(5)
        let due = time.now.advanced(by: .seconds(6))
        loop.run(until: due)
        #expect(log.count == 1)
        #expect(time.now < due)
    }

    @Test("A past date, even distantPast, fires once in the first pass, and a repeating timer's grid begins then")
    func past() {
        for date in [-3600.0, nil] {
            let other = LoopDateTests()
            let date = date.map { other.wall($0) } ?? .distantPast
            let timer = other.timer(date, interval: 1, repeats: true)
            other.loop.add(timer, forMode: .default)
            other.loop.run(until: other.time.now)
            #expect(other.log.count == 1)
            other.loop.run(until: other.time.now.advanced(by: .seconds(2)))
            #expect(other.log.count == 3)
            timer.invalidate()
        }
    }

    @Test("A NaN date or interval makes an invalid timer, and setting a NaN date changes nothing")
    func nan() {
        let nan = Date(timeIntervalSinceReferenceDate: .nan)
        #expect(!timer(nan).isValid)
        #expect(!timer(Date(), interval: .nan, repeats: true).isValid)
        let timer = timer(.distantFuture)
        timer.fireDate = nan
        #expect(timer.isValid)
        #expect(timer.fireDate == .distantFuture)
    }

    @Test("Setting a date on an invalid timer does nothing: the timer still reports the date that it fired for")
    func setOnInvalid() {
        let timer = timer(wall(5))
        loop.add(timer, forMode: .default)
        loop.run()
        #expect(!timer.isValid)
        timer.fireDate = wall(1_000_000)
        #expect(timer.fireDate == wall())
    }

    @Test("Infinite dates count as the ends of time")
    func infinite() {
        let never = timer(Date(timeIntervalSinceReferenceDate: .infinity))
        let now = timer(Date(timeIntervalSinceReferenceDate: -.infinity))
        loop.add(never, forMode: .default)
        loop.add(now, forMode: .default)
        loop.run(until: time.now.advanced(by: .seconds(1)))
        #expect(log.count == 1)
        #expect(never.isValid && !now.isValid)
    }

    @Test("A past limit date makes one pass; distantFuture and nearer dates are limits as instants are")
    func limits() {
        loop.add(
            LoopTimer(timeInterval: .seconds(1), repeats: false) { [log] _ in log.append("tick") },
            forMode: .default
        )
        loop.run(until: Date.distantPast)
        #expect(log.count == 0)
        #expect(loop.limitDate(forMode: .default) != nil)
        #expect(loop.limitDate(forMode: .modalPanel) == nil)
        #expect(loop.run(mode: .default, before: Date.distantFuture))
        #expect(log.count == 1)
        #expect(!loop.run(mode: .default, before: Date.distantFuture))
    }

    @Test("A timer moved to the distant future reports that date, not one beyond it that was given before")
    func dateBeyondTime() {
        let timer = LoopTimer(timeInterval: .seconds(1), repeats: false) { _ in }
        let beyond = Date(timeIntervalSinceReferenceDate: 1e30)
        timer.fireDate = beyond
        #expect(timer.fireDate == beyond)
        timer.fireInstant = .distantFuture
        #expect(timer.fireDate == .distantFuture)
    }

    @Test("A date reads the same each time, in and out of a loop, and dates of a grid are intervals apart")
    func stable() {
        let real = TimerLoop()
        let timer = LoopTimer(timeInterval: .milliseconds(1), repeats: true) { _ in }
        // Two clocks are read one after the other. Only rarely is there a delay in between, hence so many readings.
        let dates = (0..<50_000).map { _ in timer.fireDate }
        #expect(Set(dates).count == 1)
        real.add(timer, forMode: .default)
        let added = (0..<1000).map { _ in timer.fireDate }
        #expect(Set(added).count == 1)
        let (instant, date) = (timer.fireInstant, timer.fireDate)
        real.run(mode: .default, before: .now.advanced(by: .milliseconds(5)))
        let passed = instant.duration(to: timer.fireInstant) / .seconds(1)
        #expect(passed > 0)
        // A double of seconds is exact to 0.12 µs.
        #expect(abs(timer.fireDate.timeIntervalSince(date) - passed) < 0.000_000_5)
        timer.invalidate()
    }

    @Test("In virtual time, dates that are given, reported or used as limits are on its wall clock")
    func virtualWall() {
        let timer = timer(wall(2), interval: 1, repeats: true)
        loop.add(timer, forMode: .default)
        #expect(timer.fireInstant == time.now.advanced(by: .seconds(2)))
        loop.run(until: wall(4))
        #expect(log.count == 3)
        #expect(timer.fireDate == wall(1))
        #expect(loop.limitDate(forMode: .default) == wall(1))
        timer.fireInstant = time.now.advanced(by: .seconds(7))
        #expect(timer.fireDate == wall(7))
        // The timer keeps its instant, and the wall clock shows another date for it now.
        time.setWall(to: WallInstant(nanoseconds: time.wallNow.nanoseconds + 3_600_000_000_000))
        #expect(timer.fireDate == wall(7))
        #expect(timer.fireInstant == time.now.advanced(by: .seconds(7)))
    }

    @Test("Dates after a given one ignore a slew of the wall clock by less than 10 ms, and follow a longer step")
    func slewed() {
        let date = wall(2)
        let timer = timer(date, interval: 1, repeats: true)
        loop.add(timer, forMode: .default)
        loop.run(until: wall(2.5))
        func setWall(ahead milliseconds: Int64) {
            time.setWall(to: WallInstant(nanoseconds: time.wallNow.nanoseconds + milliseconds * 1_000_000))
        }
        setWall(ahead: 9)
        #expect(timer.fireDate == date.addingTimeInterval(1))
        setWall(ahead: 11)
        #expect(timer.fireDate == date.addingTimeInterval(1.02))
    }

    @Test(
        "The first interval counts from creation if the time was named, and otherwise from adding to the loop",
        arguments: [true, false]
    )
    func grid(isNamed: Bool) {
        let start = time.now
        let interval = Duration.seconds(2)
        let timer =
            isNamed
            ? LoopTimer(timeInterval: interval, repeats: true, time: time.base) { _ in }
            : LoopTimer(timeInterval: interval, repeats: true) { _ in }
        time.advance(by: .seconds(0.5))
        loop.add(timer, forMode: .default)
        #expect(timer.fireInstant == start.advanced(by: .seconds(isNamed ? 2 : 2.5)))
        let seconds = LoopTimer(timeInterval: 2.0, repeats: true, time: time.base) { _ in }
        time.advance(by: .seconds(0.5))
        loop.add(seconds, forMode: .default)
        #expect(seconds.fireInstant == start.advanced(by: .seconds(2.5)))
    }
}
