import CHRTimer
import Testing

@testable import HRTimerCore

/// Expired timers of one group, in order.
@Suite struct ExpiredTimersTests {
    @Test("Of the expired timers that follow, one that has left is not prefetched")
    func stale() {
        var expired = ExpiredTimers()
        let entries = (0..<5).map { place in
            ExpiredTimers.Entry(
                place_ns: Int64(place),
                sequence: UInt64(place),
                token: TimerToken(hrt_token(slot: UInt32(10 + place), generation: 1), owner: 1)
            )
        }
        for entry in entries { expired.insert(entry, 0) }
        var served = NumberSet()
        served.insert(0)
        expired.remove(entries[2], 0)
        let hasNextAfterRemoval = expired.hasLikelyNext
        var popped: [UInt32] = []
        var next: [[UInt32]] = []
        while let position = expired.find(within: PassLimit(now_ns: 10, sequence: .max), served) {
            popped.append(expired.pop(position).token.slot)
            next.append([expired.likelyNext.first, expired.likelyNext.second, expired.likelyNext.third])
        }
        let no = ExpiredTimers.noSlot
        #expect(!hasNextAfterRemoval && popped == [10, 11, 13, 14])
        #expect(next == [[11, no, 13], [13, 14, no], [14, no, no], [no, no, no]])
    }
}
