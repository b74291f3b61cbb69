// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import Testing

@Suite struct InstantOperatorTests {
    private let zero = MonotonicInstant(nanoseconds: 0)

    @Test("Adding and subtracting durations, and subtracting instants, work on every clock")
    func arithmetic() {
        #expect(zero + .nanoseconds(5) == MonotonicInstant(nanoseconds: 5))
        #expect(zero - .nanoseconds(5) == MonotonicInstant(nanoseconds: -5))
        #expect(MonotonicInstant(nanoseconds: 7) - zero == .nanoseconds(7))
        #expect(zero - MonotonicInstant(nanoseconds: 7) == .nanoseconds(-7))
        var wall = WallInstant(nanoseconds: 1)
        wall += .nanoseconds(4)
        wall -= .nanoseconds(2)
        #expect(wall == WallInstant(nanoseconds: 3))
        #expect(BootTimeInstant(nanoseconds: 9) - .seconds(1) == BootTimeInstant(nanoseconds: 9 - 1_000_000_000))
    }

    @Test("A part of a nanosecond rounds up for sums and differences, so that no instant is early")
    func rounding() {
        let half = Duration(secondsComponent: 0, attosecondsComponent: 500_000_000)
        #expect(zero + half == MonotonicInstant(nanoseconds: 1))
        #expect(zero - half == zero)
    }

    @Test("Results that do not fit saturate, and distantFuture stays distantFuture")
    func bounds() {
        let longest = Duration(attoseconds: .max), shortest = Duration(attoseconds: .min)
        #expect(zero + longest == .distantFuture)
        #expect(zero + shortest == .distantPast)
        #expect(zero - longest == .distantPast)
        #expect(zero - shortest == .distantFuture)
        #expect(MonotonicInstant.distantFuture - .seconds(1) == .distantFuture)
        #expect(MonotonicInstant.distantFuture + shortest == .distantFuture)
        #expect(MonotonicInstant.distantFuture - .distantPast == .nanoseconds(Int64.max) - .nanoseconds(Int64.min))
    }
}
