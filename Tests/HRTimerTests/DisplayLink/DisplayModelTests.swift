import HRTimerCore
import TestSupport
import Testing

@testable import HRTimer

/// Links of all intervals and leads, in loops that run, stop, end and change modes, on displays whose rates change, that are
/// hidden, sleep, and are lost: against `DisplayModel`. HRTIMER_MODEL_OPERATIONS sets how many refreshes, HRTIMER_SEED which.
@Suite struct DisplayModelTests {
    private static let refreshes = environment("HRTIMER_MODEL_OPERATIONS").flatMap { Int64($0) } ?? 6000

    @Test(
        "Links are called, and drop refreshes, as counting them one by one says; and agree on each one's instant",
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
