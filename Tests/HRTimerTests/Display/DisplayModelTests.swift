// SPDX-License-Identifier: Apache-2.0
import HRTimerCore
import TestSupport
import Testing

@testable import HRTimer

/// Compares links of all intervals and leads with `DisplayModel`, in loops that run, stop, end and change modes, on displays that
/// change rates, are hidden, sleep, and are lost. HRTIMER_MODEL_OPERATIONS is the number of refreshes, HRTIMER_SEED the seed.
@Suite struct DisplayModelTests {
    private static let refreshes = environment("HRTIMER_MODEL_OPERATIONS").flatMap { Int64($0) } ?? 6000

    @Test(
        "Links are called and drop refreshes as a refresh-by-refresh count says, and agree on each refresh's instant",
        arguments: DisplayPlay.Kind.allCases
    )
    func random(_ kind: DisplayPlay.Kind) throws {
        let refreshes = Self.refreshes / Int64(DisplayPlay.Kind.allCases.count)
        let play = try DisplayPlay(kind, .fromEnvironment())
        play.run(refreshes: refreshes)
        #expect(play.differences == [])
        // A play in which nothing happened would show nothing.
        #expect(play.calls > 20)
        #expect(play.lateCalls + play.slowCalls > 5)
        if kind == .real || kind == .surface { #expect(play.conserved > 0) }
        play.end()
        #expect(play.canaries.count == 0)
    }
}
