// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import bench

@Suite("The order of blocks")
struct ScheduleTests {
    @Test("is the same for the same seed, and another for another seed")
    func isReproducible() {
        func schedule(_ seed: UInt64) -> Schedule {
            Schedule(subjects: 12, rounds: 5, interval_ns: 1_000_000, seed: seed)
        }
        #expect(schedule(42) == schedule(42))
        #expect(schedule(42) != schedule(43))
    }

    @Test("has every subject once in each round, in changing order")
    func isInterleaved() {
        let schedule = Schedule(subjects: 12, rounds: 5, interval_ns: 1_000_000, seed: 7)
        let rounds = (0..<5).map { round in schedule.turns.filter { $0.round == round }.map(\.subject) }
        for round in rounds { #expect(round.sorted() == Array(0..<12)) }
        #expect(Set(rounds).count > 1)
        #expect(schedule.turns.map(\.round) == schedule.turns.map(\.round).sorted())
    }

    @Test("gives each block a phase within the interval")
    func spreadsPhases() {
        let phases = Schedule(subjects: 20, rounds: 5, interval_ns: 1000, seed: 7).turns.map(\.phase_ns)
        #expect(phases.allSatisfy { (0..<1000).contains($0) })
        #expect(Set(phases).count > 50)
    }
}

@Suite("Statistics")
struct StatisticsTests {
    @Test("show a percentile only if ten values lie beyond it")
    func percentilesNeedSupport() {
        #expect(!Percentile.p50.isSupported(by: 19))
        #expect(Percentile.p50.isSupported(by: 20))
        #expect(!Percentile.p90.isSupported(by: 99))
        #expect(Percentile.p90.isSupported(by: 100))
        #expect(!Percentile.p95.isSupported(by: 199))
        #expect(Percentile.p95.isSupported(by: 200))
        #expect(!Percentile.p99.isSupported(by: 999))
        #expect(Percentile.p99.isSupported(by: 1000))
        #expect(!Percentile.p999.isSupported(by: 9999))
        #expect(Percentile.p999.isSupported(by: 10_000))
    }

    @Test("compute the standard deviation of a few numbers")
    func deviation() throws {
        var squares = SquareSum()
        #expect(squares.standardDeviation == nil)
        for value in [2.0, 4, 4, 4, 5, 5, 7, 9] { squares.add(value) }
        #expect(abs(try #require(squares.standardDeviation) - 2.138_089_935) < 1e-8)
    }

    @Test("compute a slope also far away from zero")
    func slopes() throws {
        let far = 1e18
        let points = (0..<10).map { (x: far + Double($0) * 1e6, y: 5 + Double($0)) }
        #expect(abs(try #require(slope(of: points)) - 1e-6) < 1e-12)
        #expect(slope(of: []) == nil)
        #expect(slope(of: [(x: 1, y: 1), (x: 1, y: 2)]) == nil)
    }

    @Test("mark a block disturbed by other processes, by stolen time or by throttling")
    func disturbances() {
        #expect(!Disturbance(wall_ns: 200_000_000).isMarked)
        #expect(!Disturbance(wall_ns: 200_000_000, machineCPU_ns: 30_000_000, ownCPU_ns: 10_000_000).isMarked)
        #expect(Disturbance(wall_ns: 200_000_000, machineCPU_ns: 60_000_000).isMarked)
        #expect(Disturbance(wall_ns: 200_000_000, steal_ns: 10_000_000).isMarked)
        #expect(Disturbance(wall_ns: 200_000_000, throttled_ns: 1).isMarked)
    }
}
