// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import TestSupport
import Testing

/// Intervals that are not a whole number of nanoseconds.
@Suite struct RationalGridTests {
    /// An interval as a fraction, `seconds / parts`, and as the duration that a program writes.
    struct Rate: Sendable {
        let seconds: Int64
        let parts: Int64
        var interval: Duration { .seconds(seconds) / Int(parts) }
        var grid: Grid { Grid(anchor: ExactInstant(0), interval: ExactInterval(interval)) }

        /// Returns the instant of tick `number`, rounded up to a nanosecond.
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
        Rate(seconds: 1, parts: 144), Rate(seconds: 1, parts: 1000),
    ]
    private static let day = 86_400 as Int64

    @Test("Each tick of a day is exact to the nanosecond, rounded up", arguments: rates)
    func day(_ rate: Rate) {
        let recurrence = Recurrence(every: rate.interval, policy: .burst)
        var position = GridPosition(deadline_ns: 0)
        var wrong = 0
        // Every tick of the first minute, then about one in a thousand.
        for number in 1...rate.ticks(inSeconds: 60) {
            _ = recurrence.begin(&position, now_ns: position.deadline_ns)
            if position.deadline_ns != rate.deadline_ns(number) { wrong += 1 }
        }
        for number in stride(from: 0, to: rate.ticks(inSeconds: Self.day), by: 997) {
            if rate.grid.instant_ns(number) != rate.deadline_ns(number) { wrong += 1 }
        }
        #expect(wrong == 0)
    }

    @Test(
        "An interval is exact to the attosecond of Duration: ticks at 44,100 Hz stay within a nanosecond for a day"
    )
    func attoseconds() {
        let rate = Rate(seconds: 1, parts: 44_100)
        for number in stride(from: 0, to: rate.ticks(inSeconds: Self.day), by: 1_000_003) {
            #expect((0...1).contains(rate.deadline_ns(number) - rate.grid.instant_ns(number)))
        }
    }

    @Test("Late calls under grid policies lose no part of a nanosecond, and count missed ticks", arguments: rates)
    func late(_ rate: Rate) {
        var random = SeededRandom.fromEnvironment()
        for policy in [MissedTickPolicy.merge, .mergeToGrid, .skip, .burst] {
            let recurrence = Recurrence(every: rate.interval, policy: policy)
            var position = GridPosition(deadline_ns: 0)
            // The number of the next tick, and the number of ticks reported so far.
            var (number, reported) = (0 as Int64, 0 as Int64)
            for _ in 0..<500 {
                let now_ns =
                    position.deadline_ns + Int64.random(in: 0...(5 * recurrence.interval.whole_ns), using: &random)
                if let missed = recurrence.begin(&position, now_ns: now_ns) { reported += Int64(missed) + 1 }
                recurrence.end(
                    &position,
                    now_ns: now_ns + Int64.random(in: 0...recurrence.interval.whole_ns, using: &random)
                )
                number = reported + Int64(position.unreported)
                #expect(position.deadline_ns == rate.deadline_ns(number), "\(policy): tick \(number)")
            }
        }
    }

    @Test("A grid is exact before the clock's zero, and across it")
    func negative() {
        let rate = Rate(seconds: 1, parts: 3)
        let recurrence = Recurrence(every: rate.interval, policy: .merge)
        var position = GridPosition(deadline_ns: -2_000_000_000)
        for expected in [-1_666_666_666, -1_333_333_333, -1_000_000_000, -666_666_666, -333_333_333, 0, 333_333_334]
            as [Int64]
        {
            position.deadline.advance(by: recurrence.interval)
            #expect(position.deadline_ns == expected)
        }
        let grid = Grid(anchor: ExactInstant(-2_000_000_000), number: 40, interval: ExactInterval(rate.interval))
        #expect(grid.instant_ns(47) == 333_333_334)
        #expect(grid.number(at: 1_000_000_000) == 49)
        #expect(grid.number(at: 333_333_333) == 46)
    }

    @Test("An interval returns the duration it was made from, or one nanosecond if that is shorter")
    func intervals() {
        for rate in Self.rates {
            #expect(Recurrence(every: rate.interval, policy: .merge).interval.duration == rate.interval)
        }
        #expect(Recurrence(every: .nanoseconds(1) / 2, policy: .merge).interval.duration == .microseconds(100))
        #expect(Recurrence(every: .nanoseconds(-1) / 2, policy: .merge).interval.duration == .microseconds(100))
        #expect(Recurrence(every: .seconds(Int64.max), policy: .merge).interval.whole_ns == .max)
        #expect(Recurrence(every: .seconds(Int64.min), policy: .merge).interval.duration == .microseconds(100))
    }

    @Test("From 2^63 ns on, whatever the unit, a length of time is the longest that there is")
    func longest() {
        func length(_ span: some TimeSpan) -> Duration? { span.asDuration }
        let seconds = 0x1p63 / 1e9
        #expect(length(.seconds(seconds)) == .nanoseconds(Int64.max))
        #expect(length(.seconds(-seconds)) == .nanoseconds(Int64.min))
        #expect(length(.milliseconds(seconds * 1e3)) == .nanoseconds(Int64.max))
        #expect(length(.seconds(seconds.nextDown)) == Duration.seconds(seconds.nextDown))
    }

    @Test("A Double of seconds becomes an exact duration: 1/48 s does not drift in a day, and 0.1 is 100 ms")
    func seconds() {
        #expect(0.1.asDuration == .milliseconds(100))
        #expect((-0.25).asDuration == .milliseconds(-250))
        #expect(Double.nan.asDuration == nil)
        #expect(Double.infinity.asDuration == .nanoseconds(Int64.max))
        #expect((-Double.infinity).asDuration == .nanoseconds(Int64.min))
        #expect(1e-30.asDuration?.nanosecondsRoundedUp == 1)
        for rate in Self.rates {
            let interval = (Double(rate.seconds) / Double(rate.parts)).asDuration
            let recurrence = Recurrence(every: interval, policy: .merge)
            let number = rate.ticks(inSeconds: Self.day)
            let last_ns = Grid(anchor: ExactInstant(0), interval: recurrence.interval).instant_ns(number)
            #expect(abs(last_ns - rate.deadline_ns(number)) <= 1, "\(rate.seconds)/\(rate.parts)")
        }
    }

    @Test("A tick's number is found by its instant, and not a nanosecond before, for any anchor, rate and number")
    func numbers() {
        var random = SeededRandom.fromEnvironment()
        for _ in 0..<2000 {
            let interval = ExactInterval(
                whole_ns: Int64.random(in: 1...(Bool.random(using: &random) ? 100 : 1_000_000_000_000), using: &random),
                rest_as: UInt32.random(in: 0..<1_000_000_000, using: &random)
            )
            let anchor = ExactInstant(
                Int64.random(in: -1_000_000_000_000_000...1_000_000_000_000_000, using: &random),
                roundedUp_as: UInt32.random(in: 0..<1_000_000_000, using: &random)
            )
            let grid = Grid(anchor: anchor, number: Int64.random(in: -1000...1000, using: &random), interval: interval)
            let number = Int64.random(in: -1_000_000...1_000_000, using: &random)
            let instant_ns = grid.instant_ns(number)
            #expect(grid.number(at: instant_ns - 1) < number)
            // Several ticks may fall in one nanosecond if the interval is that short.
            #expect(grid.number(at: instant_ns) >= number)
            #expect(grid.instant_ns(grid.number(at: instant_ns)) == instant_ns)
            // The exact instant, in attoseconds.
            let anchor_as = Int128(anchor.rounded_ns) * 1_000_000_000 - Int128(anchor.roundedUp_as)
            let interval_as = Int128(interval.whole_ns) * 1_000_000_000 + Int128(interval.rest_as)
            let exact_as = anchor_as + (Int128(number) - Int128(grid.number)) * interval_as
            #expect((0..<1_000_000_000).contains(Int128(instant_ns) * 1_000_000_000 - exact_as))
        }
    }

    @Test("A grid whose anchor is moved to another of its instants stays the same grid")
    func advanced() {
        var random = SeededRandom.fromEnvironment()
        for rate in Self.rates {
            let grid = Grid(anchor: ExactInstant(5), number: 3, interval: ExactInterval(rate.interval))
            #expect(grid.advanced(past: 4) == grid)
            for _ in 0..<100 {
                let now_ns = Int64.random(in: 5...1_000_000_000_000, using: &random)
                let later = grid.advanced(past: now_ns)
                #expect(later.anchor.rounded_ns > now_ns)
                #expect(later.number == grid.number(at: now_ns) + 1)
                let number = Int64.random(in: -1000...10_000_000, using: &random)
                #expect(later.instant(number) == grid.instant(number))
            }
        }
    }

    @Test("No number, instant or interval traps: what lies beyond either end of time saturates")
    func ends() {
        for whole_ns in [1, 1_000_000_000_000, .max] as [Int64] {
            for anchor_ns in [.min, 0, .max] as [Int64] {
                let grid = Grid(
                    anchor: ExactInstant(anchor_ns, roundedUp_as: 999_999_999),
                    number: anchor_ns,
                    interval: ExactInterval(whole_ns: whole_ns, rest_as: 999_999_999)
                )
                for number in [.min, -1, 0, 1, .max] as [Int64] {
                    let instant_ns = grid.instant_ns(number)
                    if number > anchor_ns { #expect(instant_ns >= anchor_ns) }
                    if number < anchor_ns { #expect(instant_ns <= anchor_ns) }
                    _ = grid.number(at: number)
                    _ = grid.advanced(past: number)
                }
            }
        }
        let century = Grid(anchor: ExactInstant(0), interval: ExactInterval(.seconds(3_155_760_000)))
        #expect(century.instant_ns(2) == 6_311_520_000_000_000_000)
        #expect(century.instant_ns(3) == .max)
        #expect(century.instant_ns(-3) == .min)
        #expect(century.instant_ns(.max) == .max)
        #expect(century.instant_ns(.min) == .min)
    }

    @Test("A measured period keeps its fraction, and is at least a nanosecond")
    func measured() {
        #expect(ExactInterval(nanoseconds: 16_683_333.25) == ExactInterval(whole_ns: 16_683_333, rest_as: 250_000_000))
        #expect(ExactInterval(nanoseconds: 16_683_333.25).nanoseconds == 16_683_333.25)
        #expect(ExactInterval(nanoseconds: 0.25) == ExactInterval(whole_ns: 1))
        #expect(ExactInterval(nanoseconds: .infinity).whole_ns == 1 << 62)
        #expect(ExactInterval(whole_ns: 7, rest_as: 499_999_999).nearest_ns == 7)
        #expect(ExactInterval(whole_ns: 7, rest_as: 500_000_000).nearest_ns == 8)
        #expect(ExactInterval(whole_ns: .max, rest_as: 500_000_000).nearest_ns == .max)
    }
}
