// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import Testing

@Suite struct NanosecondsTests {
    @Test("A duration is rounded up to the next nanosecond, also below zero")
    func roundsUp() {
        #expect(Duration.nanoseconds(5).nanosecondsRoundedUp == 5)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: 1).nanosecondsRoundedUp == 1)
        #expect(Duration(secondsComponent: 1, attosecondsComponent: 1).nanosecondsRoundedUp == 1_000_000_001)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: -1).nanosecondsRoundedUp == 0)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: -1_000_000_001).nanosecondsRoundedUp == -1)
    }

    @Test("The result is exact below and above 18 s, where attoseconds no longer fit 64 bits")
    func aroundTheFastPath() {
        for seconds in [Int64(17), 18, 19, 1_000_000] {
            for nanoseconds in [Int64(0), 1, 446_744_073, 999_999_999] {
                let duration = Duration.seconds(seconds) + .nanoseconds(nanoseconds)
                #expect(duration.nanosecondsRoundedUp == seconds * 1_000_000_000 + nanoseconds)
                let more = duration + Duration(secondsComponent: 0, attosecondsComponent: 1)
                #expect(more.nanosecondsRoundedUp == seconds * 1_000_000_000 + nanoseconds + 1)
            }
        }
    }

    @Test("A duration beyond 292 years saturates")
    func saturates() {
        #expect(Duration.seconds(Int64.max).nanosecondsRoundedUp == .max)
        #expect(Duration.seconds(Int64.min).nanosecondsRoundedUp == .min)
        #expect(Duration.nanoseconds(Int64.max).nanosecondsRoundedUp == .max)
        #expect((Duration.nanoseconds(Int64.max) + .nanoseconds(1)).nanosecondsRoundedUp == .max)
        #expect((Duration.nanoseconds(Int64.min) - .nanoseconds(1)).nanosecondsRoundedUp == .min)
        #expect(Duration.seconds(1e19).nanosecondsRoundedUp == .max, "more seconds than Int64 holds")
        #expect(Duration.seconds(-1e19).nanosecondsRoundedUp == .min)
    }

    @Test("Seconds as a Double: NaN gives nil, infinities saturate, and fractions round up")
    func doubles() {
        #expect(Duration(roundingUpSeconds: .nan) == nil)
        #expect(Duration(roundingUpSeconds: .infinity) == .nanoseconds(Int64.max))
        #expect(Duration(roundingUpSeconds: -.infinity) == .nanoseconds(Int64.min))
        #expect(Duration(roundingUpSeconds: 1e300) == .nanoseconds(Int64.max))
        #expect(Duration(roundingUpSeconds: 0.5) == .milliseconds(500))
        #expect(Duration(roundingUpSeconds: 1e-10) == .nanoseconds(1))
        #expect(Duration(roundingUpSeconds: -0.25) == .milliseconds(-250))
    }
}
