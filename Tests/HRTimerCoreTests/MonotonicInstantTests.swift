// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import Testing

@Suite struct MonotonicInstantTests {
    @Test("Arithmetic saturates at both ends instead of trapping")
    func saturates() {
        let late = MonotonicInstant(nanoseconds: .max - 1)
        #expect(late.advanced(by: .seconds(1)) == .distantFuture)
        #expect(MonotonicInstant(nanoseconds: .min + 1).advanced(by: .seconds(-1)) == .distantPast)
        #expect(MonotonicInstant(nanoseconds: 0).advanced(by: .seconds(Int64.max)) == .distantFuture)
    }

    @Test("Adding any duration to distantFuture gives distantFuture")
    func neverIsNever() {
        #expect(MonotonicInstant.distantFuture.advanced(by: .seconds(-1_000_000)) == .distantFuture)
    }

    @Test("A duration between instants is exact even where it does not fit 64 bits")
    func exactDurations() {
        let all = MonotonicInstant.distantPast.duration(to: .distantFuture)
        #expect(all == .nanoseconds(Int64.max) - .nanoseconds(Int64.min))
        let a = MonotonicInstant(nanoseconds: 5)
        let b = MonotonicInstant(nanoseconds: 12)
        #expect(a.advanced(by: a.duration(to: b)) == b)
        #expect(b.duration(to: a) == .nanoseconds(-7))
    }

    @Test("Instants are ordered, and their descriptions have nine decimals")
    func orderAndText() {
        #expect(MonotonicInstant.distantPast < MonotonicInstant(nanoseconds: 0))
        #expect(MonotonicInstant(nanoseconds: 0) < .distantFuture)
        #expect("\(MonotonicInstant(nanoseconds: 1_000_000_020))" == "1.000000020 s")
        #expect("\(MonotonicInstant(nanoseconds: -1_500_000_000))" == "-1.500000000 s")
        #expect("\(MonotonicInstant.distantFuture)" == "distantFuture")
    }

    @Test("The clock never goes back")
    func now() {
        var last = MonotonicInstant.now
        for _ in 0..<10_000 {
            let now = MonotonicInstant.now
            #expect(last <= now)
            last = now
        }
    }
}
