// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Testing

@testable import HRTimerCore

/// Timers that were taken out of the queue and have not been fired yet.
@Suite struct ExpiredTimersTests {
    @Test("The first of the expired timers is one that is still there, whichever have left")
    func firstThatIsLeft() {
        var expired = ExpiredTimers()
        var served = NumberSet()
        served.insert(0)
        let entries = (1...3).map { number in
            let token = TimerToken(hrt_token(slot: UInt32(number), generation: 1))
            return ExpiredTimers.Entry(place_ns: Int64(number), sequence: UInt64(number), token: token)
        }
        for entry in entries { expired.insert(entry, 0) }
        expired.remove(entries[1], 0)
        #expect(expired.first(served)?.place_ns == 1)
        expired.remove(entries[0], 0)
        #expect(expired.first(served)?.place_ns == 3)
        expired.remove(entries[2], 0)
        #expect(expired.isEmpty && expired.first(served) == nil)
    }
}
