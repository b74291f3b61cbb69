import HRTimerCore
import TestSupport
import Testing

/// Intervals that are no whole number of nanoseconds.
@Suite struct RationalGridTests {
    /// An interval as it is meant, `seconds / parts`, and as a program writes it.
    struct Rate: Sendable {
        let seconds: Int64
        let parts: Int64
        var interval: Duration { .seconds(seconds) / Int(parts) }

        /// Tick `number`, rounded up to a nanosecond.
        func deadline_ns(_ number: Int64) -> Int64 {
            let (whole, rest) = (Int128(number) * Int128(seconds) * 1_000_000_000).quotientAndRemainder(
                dividingBy: Int128(parts)
            )
            return Int64(rest > 0 ? whole + 1 : whole)
        }

        func ticks(inSeconds length: Int64) -> Int64 { length * parts / seconds }
    }

    static let rates = [
        Rate(seconds: 1, parts: 48), Rate(seconds: 1, parts: 60), Rate(seconds: 1001, parts: 60_000),
        Rate(seconds: 1001, parts: 24_000), Rate(seconds: 1, parts: 3), Rate(seconds: 61, parts: 3),
    ]
    private static let day = 86_400 as Int64

    @Test("Each tick of a day is exact to the nanosecond, rounded up", arguments: rates)
    func day(_ rate: Rate) {
        let repetition = Repetition(every: rate.interval, policy: .burst)
        var ticks = TickCount(deadline_ns: 0)
        var wrong = 0
        // One by one for a minute, then one in a thousand.
        for number in 1...rate.ticks(inSeconds: 60) {
            _ = repetition.begin(&ticks, now_ns: ticks.deadline_ns)
            if ticks.deadline_ns != rate.deadline_ns(number) { wrong += 1 }
        }
        for number in stride(from: 0, to: rate.ticks(inSeconds: Self.day), by: 997) {
            ticks = TickCount(deadline_ns: 0)
            repetition.advance(&ticks, by: Int128(number))
            if ticks.deadline_ns != rate.deadline_ns(number) { wrong += 1 }
        }
        #expect(wrong == 0)
    }

    @Test(
        "An interval is as exact as a duration, to an attosecond: 44,100 times a second is so for a day, to a nanosecond"
    )
    func attoseconds() {
        let rate = Rate(seconds: 1, parts: 44_100)
        let repetition = Repetition(every: rate.interval, policy: .merge)
        for number in stride(from: 0, to: rate.ticks(inSeconds: Self.day), by: 1_000_003) {
            var ticks = TickCount(deadline_ns: 0)
            repetition.advance(&ticks, by: Int128(number))
            #expect((0...1).contains(rate.deadline_ns(number) - ticks.deadline_ns))
        }
    }

    @Test("Late calls, of any policy, lose no part of a nanosecond and count what they pass over", arguments: rates)
    func late(_ rate: Rate) {
        var random = SeededRandom.fromEnvironment()
        for policy in [MissedTickPolicy.merge, .mergeToGrid, .skip, .burst] {
            let repetition = Repetition(every: rate.interval, policy: policy)
            var ticks = TickCount(deadline_ns: 0)
            // The tick that is next, and how many were told so far.
            var (number, told) = (0 as Int64, 0 as Int64)
            for _ in 0..<500 {
                let now_ns = ticks.deadline_ns + Int64.random(in: 0...(5 * repetition.interval_ns), using: &random)
                if let missed = repetition.begin(&ticks, now_ns: now_ns) { told += Int64(missed) + 1 }
                repetition.end(&ticks, now_ns: now_ns + Int64.random(in: 0...repetition.interval_ns, using: &random))
                number = told + Int64(ticks.untold)
                #expect(ticks.deadline_ns == rate.deadline_ns(number), "\(policy): tick \(number)")
            }
        }
    }

    @Test("Before the clock's zero, too, and from there over it")
    func negative() {
        let rate = Rate(seconds: 1, parts: 3)
        let repetition = Repetition(every: rate.interval, policy: .merge)
        var ticks = TickCount(deadline_ns: -2_000_000_000)
        for expected in [-1_666_666_666, -1_333_333_333, -1_000_000_000, -666_666_666, -333_333_333, 0, 333_333_334]
            as [Int64]
        {
            repetition.advance(&ticks)
            #expect(ticks.deadline_ns == expected)
        }
        ticks = TickCount(deadline_ns: -2_000_000_000)
        repetition.advance(&ticks, by: 7)
        #expect(ticks.deadline_ns == 333_333_334)
        #expect(repetition.count(from: ticks, to: 1_000_000_000) == 2)
    }

    @Test("An interval tells what it is, and one shorter than a nanosecond is one")
    func intervals() {
        for rate in Self.rates { #expect(Repetition(every: rate.interval, policy: .merge).interval == rate.interval) }
        #expect(Repetition(every: .nanoseconds(1) / 2, policy: .merge).interval == .nanoseconds(1))
        #expect(Repetition(every: .nanoseconds(-1) / 2, policy: .merge).interval == .microseconds(100))
        #expect(Repetition(every: .seconds(Int64.max), policy: .merge).interval_ns == .max)
        #expect(Repetition(every: .seconds(Int64.min), policy: .merge).interval == .microseconds(100))
    }

    @Test("A number of seconds is as exact as it tells: a 48th does not drift in a day, and a tenth is a tenth")
    func seconds() {
        #expect(0.1.asDuration == .milliseconds(100))
        #expect((-0.25).asDuration == .milliseconds(-250))
        #expect(Double.nan.asDuration == nil)
        #expect(Double.infinity.asDuration == .nanoseconds(Int64.max))
        #expect((-Double.infinity).asDuration == .nanoseconds(Int64.min))
        #expect(1e-30.asDuration?.nanosecondsRoundedUp == 1)
        for rate in Self.rates {
            let interval = (Double(rate.seconds) / Double(rate.parts)).asDuration
            let repetition = Repetition(every: interval, policy: .merge)
            let number = rate.ticks(inSeconds: Self.day)
            var ticks = TickCount(deadline_ns: 0)
            repetition.advance(&ticks, by: Int128(number))
            #expect(abs(ticks.deadline_ns - rate.deadline_ns(number)) <= 1, "\(rate.seconds)/\(rate.parts)")
        }
    }
}
