import Seeded
import Testing

@testable import bench

@Suite("A crowd") struct CrowdTests {
    private func least(_ windows: [(Int64, Int64)], from from_ns: Int64 = 0, to to_ns: Int64 = 1000) -> Int {
        CrowdPlan.leastWakeups(
            windows.map { CrowdTimer(first_ns: $0.0, tolerance_ns: $0.1 - $0.0) },
            from: from_ns,
            to: to_ns
        )
    }

    @Test("needs one wake-up for windows that have an instant in common, and one more for each that has none")
    func leastOfFew() {
        #expect(least([]) == 0)
        #expect(least([(10, 20), (15, 30), (20, 40)]) == 1)
        #expect(least([(10, 20), (21, 30), (20, 40)]) == 2)
        #expect(least([(10, 10), (10, 10), (11, 11)]) == 2)
        // A wide window is served by the wake-up of a narrow one inside it.
        #expect(least([(0, 100), (40, 50), (60, 70)]) == 2)
    }

    @Test("is counted by the ends of its windows: those outside of the time that is looked at are not")
    func bounds() {
        #expect(least([(10, 99), (10, 100), (10, 200)], from: 100, to: 200) == 1)
        let repeating = [CrowdTimer(first_ns: 5, interval_ns: 10, tolerance_ns: 1)]
        #expect(CrowdPlan.leastWakeups(repeating, from: 0, to: 1000) == 100)
        #expect(CrowdPlan.leastWakeups(repeating, from: 500, to: 1000) == 50)
        let pair = repeating + [CrowdTimer(first_ns: 6, interval_ns: 10, tolerance_ns: 1)]
        #expect(CrowdPlan.leastWakeups(pair, from: 0, to: 1000) == 100)
    }

    @Test("has the fewest wake-ups that any choice of instants gives: small random sets, all choices tried")
    func agreesWithSearch() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<50 {
            let windows = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                let start = Int64.random(in: 0..<7, using: &random)
                return (start, start + Int64.random(in: 0..<3, using: &random))
            }
            let fewest = (0..<1 << 9).filter { choice in
                windows.allSatisfy { window in (window.0...window.1).contains { choice >> $0 & 1 == 1 } }
            }.map(\.nonzeroBitCount).min()
            #expect(least(windows) == fewest, "\(windows)")
        }
    }

    @Test("spreads its first deadlines over one interval, evenly or by the seed")
    func phases() {
        let even = CrowdPlan(timers: 4, interval_ns: 100, tolerance_ns: 7, phases: .evenlySpread)
        #expect(even.timers(from: 1000, seed: 1).map(\.first_ns) == [1000, 1025, 1050, 1075])
        #expect(even.timers(from: 1000, seed: 1).allSatisfy { $0.interval_ns == 100 && $0.tolerance_ns == 7 })
        let random = CrowdPlan(timers: 100, interval_ns: 1000, tolerance_ns: 0, phases: .random)
        #expect(random.timers(from: 0, seed: 1) == random.timers(from: 0, seed: 1))
        #expect(random.timers(from: 0, seed: 1) != random.timers(from: 0, seed: 2))
        #expect(random.timers(from: 0, seed: 1).allSatisfy { (0..<1000).contains($0.first_ns) })
    }
}
