import FoundationEssentials
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Foundation's `Date` at the face. The wall clock is the kernel's also where the loop's own clock is frozen.
@Suite struct LoopDateTests {
    let time = ManualTime()
    let loop: TimerLoop
    let log = Recorder<String>()

    init() {
        loop = TimerLoop(time: time.base)
    }

    private func timer(_ date: Date, interval: Double = 0, repeats: Bool = false) -> LoopTimer {
        LoopTimer(fire: date, interval: interval, repeats: repeats) { [log] _ in log.append("tick") }
    }

    @Test("A date that was given reads back to the bit, before and after the timer is added")
    func readsBack() {
        let date = Date(timeIntervalSinceNow: 1234.567)
        let timer = timer(date)
        #expect(timer.fireDate == date)
        timer.fireDate = date.addingTimeInterval(0.25)
        #expect(timer.fireDate == date.addingTimeInterval(0.25))
        TimerLoop().add(timer, forMode: .default)
        let other = self.timer(date)
        loop.add(other, forMode: .default)
        #expect(abs(other.fireDate.timeIntervalSince(date)) < 1)
    }

    @Test("distantFuture never fires and reads back as it is (CF: 2129), and a nearer date resumes the timer")
    func distantFuture() {
        let timer = timer(.distantFuture)
        loop.add(timer, forMode: .default)
        #expect(timer.fireDate == .distantFuture)
        loop.run(until: time.now.advanced(by: .seconds(1_000_000_000)))
        #expect(log.count == 0)
        timer.fireDate = Date(timeIntervalSinceNow: 5)
        let due = time.now.advanced(by: .seconds(6))
        loop.run(until: due)
        #expect(log.count == 1)
        #expect(time.now < due)
    }

    @Test("A past date, distantPast too, fires once in the first pass; a repeating timer's grid begins then")
    func past() {
        for date in [Date(timeIntervalSinceNow: -3600), .distantPast] {
            let other = LoopDateTests()
            let timer = other.timer(date, interval: 1, repeats: true)
            other.loop.add(timer, forMode: .default)
            other.loop.run(until: other.time.now)
            #expect(other.log.count == 1)
            other.loop.run(until: other.time.now.advanced(by: .seconds(2)))
            #expect(other.log.count == 3)
            timer.invalidate()
        }
    }

    @Test("NaN makes an invalid timer, as date and as interval, and sets nothing")
    func nan() {
        let nan = Date(timeIntervalSinceReferenceDate: .nan)
        #expect(!timer(nan).isValid)
        #expect(!timer(Date(), interval: .nan, repeats: true).isValid)
        let timer = timer(.distantFuture)
        timer.fireDate = nan
        #expect(timer.isValid)
        #expect(timer.fireDate == .distantFuture)
    }

    @Test("On an invalid timer setting a date does nothing: it goes on telling what it fired for")
    func setOnInvalid() {
        let timer = timer(Date(timeIntervalSinceNow: 5))
        loop.add(timer, forMode: .default)
        loop.run()
        #expect(!timer.isValid)
        timer.fireDate = Date(timeIntervalSinceNow: 1_000_000)
        #expect(timer.fireDate.timeIntervalSinceNow < 1000)
    }

    @Test("Infinite dates are the ends of time")
    func infinite() {
        let never = timer(Date(timeIntervalSinceReferenceDate: .infinity))
        let now = timer(Date(timeIntervalSinceReferenceDate: -.infinity))
        loop.add(never, forMode: .default)
        loop.add(now, forMode: .default)
        loop.run(until: time.now.advanced(by: .seconds(1)))
        #expect(log.count == 1)
        #expect(never.isValid && !now.isValid)
    }

    @Test("Limits as dates: a past one makes one pass, distantFuture and a nearer one wait as instants do")
    func limits() {
        loop.add(
            LoopTimer(timeInterval: .seconds(1), repeats: false) { [log] _ in log.append("tick") },
            forMode: .default
        )
        loop.run(until: Date.distantPast)
        #expect(log.count == 0)
        #expect(loop.limitDate(forMode: .default) != nil)
        #expect(loop.limitDate(forMode: .modal) == nil)
        #expect(loop.run(mode: .default, before: Date.distantFuture))
        #expect(log.count == 1)
        #expect(!loop.run(mode: .default, before: Date.distantFuture))
    }
}
