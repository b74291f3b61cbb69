// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CBench
import Dispatch
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

    @Test("needs one wake-up for windows that share an instant, and one more for each window apart")
    func leastOfFew() {
        #expect(least([]) == 0)
        #expect(least([(10, 20), (15, 30), (20, 40)]) == 1)
        #expect(least([(10, 20), (21, 30), (20, 40)]) == 2)
        #expect(least([(10, 10), (10, 10), (11, 11)]) == 2)
        // A wide window is served by the wake-up of a narrow one inside it.
        #expect(least([(0, 100), (40, 50), (60, 70)]) == 2)
    }

    @Test("counts only the windows that end within the given span of time")
    func bounds() {
        #expect(least([(10, 99), (10, 100), (10, 200)], from: 100, to: 200) == 1)
        let repeating = [CrowdTimer(first_ns: 5, interval_ns: 10, tolerance_ns: 1)]
        #expect(CrowdPlan.leastWakeups(repeating, from: 0, to: 1000) == 100)
        #expect(CrowdPlan.leastWakeups(repeating, from: 500, to: 1000) == 50)
        let pair = repeating + [CrowdTimer(first_ns: 6, interval_ns: 10, tolerance_ns: 1)]
        #expect(CrowdPlan.leastWakeups(pair, from: 0, to: 1000) == 100)
    }

    @Test("finds the fewest wake-ups of all choices of instants, for small random sets")
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

@Suite("A tally")
struct TallyTests {
    @Test("returns quantiles to 4 %, rounded up, and the greatest lateness exactly")
    func quantiles() throws {
        let tally = try #require(cbench_tally_create())
        defer { cbench_tally_destroy(tally) }
        #expect(cbench_tally_quantile_ns(tally, 500_000) == 0)
        for value in 1...100_000 as ClosedRange<Int64> { cbench_tally_add(tally, value * 1000) }
        for percent in [1, 10, 50, 90, 99, 100] as [Int64] {
            let exact = percent * 1_000_000
            let found = cbench_tally_quantile_ns(tally, UInt64(percent * 10_000))
            #expect(found >= exact && Double(found) <= Double(exact) * 1.04, "\(percent) %")
        }
        #expect(cbench_tally_latest_ns(tally) == 100_000_000)
        #expect(cbench_tally_fires(tally) == 100_000)
        cbench_tally_clear(tally)
        #expect(cbench_tally_fires(tally) == 0 && cbench_tally_latest_ns(tally) == 0)
    }

    @Test("counts early fires, and accepts any lateness")
    func extremes() throws {
        let tally = try #require(cbench_tally_create())
        defer { cbench_tally_destroy(tally) }
        for value in [-5, 0, 31, 32, 33, Int64.max] { cbench_tally_add(tally, value) }
        #expect(cbench_tally_early(tally) == 1)
        #expect(cbench_tally_quantile_ns(tally, 500_000) == 31)
        #expect(cbench_tally_latest_ns(tally) == .max)
    }

    @Test("counts the deadlines that a late timer leaves out, and keeps its grid")
    func misses() throws {
        let now_ns = cbench_now_ns()
        let fleet = try Fleet([CrowdTimer(first_ns: now_ns - 3_600_000_000_000, interval_ns: 1_000_000_000)])
        let next_ns = fleet.member(0).fire()
        #expect(next_ns > now_ns)
        #expect((next_ns - now_ns) <= 60_000_000_000)
        #expect(cbench_tally_missed(fleet.tally) >= 3600)
        #expect((next_ns - fleet.timers[0].first_ns) % 1_000_000_000 == 0)
    }

    @Test("believes a timer that says for how many deadlines it fires")
    func counts() throws {
        let now_ns = cbench_now_ns()
        let interval_ns: Int64 = 3_600_000_000_000
        let fleet = try Fleet([CrowdTimer(first_ns: now_ns - 2 * interval_ns, interval_ns: interval_ns)])
        // The third deadline is now. It is not counted yet, since it gets a fire of its own.
        cbench_member_fire_for(fleet.members, 2)
        #expect(cbench_tally_missed(fleet.tally) == 1)
        cbench_member_fire_for(fleet.members, 1)
        #expect(cbench_tally_missed(fleet.tally) == 1)
        #expect(cbench_tally_fires(fleet.tally) == 2)
        #expect(cbench_tally_early(fleet.tally) == 0)
        cbench_member_fire_for(fleet.members, 1)
        #expect(cbench_tally_early(fleet.tally) == 1)
    }

    @Test("attributes a fire that comes between two clock readings to the deadline counted as missed")
    func takesBack() throws {
        let now_ns = cbench_now_ns()
        let interval_ns: Int64 = 3_600_000_000_000
        let fleet = try Fleet([CrowdTimer(first_ns: now_ns - interval_ns, interval_ns: interval_ns)])
        // The second deadline is now: it is first counted as missed, and then gets its fire after all.
        #expect(fleet.member(0).fire() == now_ns + interval_ns)
        #expect(cbench_tally_missed(fleet.tally) == 1)
        #expect(fleet.member(0).fire() == now_ns + interval_ns)
        #expect(cbench_tally_missed(fleet.tally) == 0)
        #expect(cbench_tally_early(fleet.tally) == 0)
        // Only once: the next fire is early.
        fleet.member(0).fire()
        #expect(cbench_tally_early(fleet.tally) == 1)
    }

    @Test("does not count a fire as early whose deadline was attributed to a late fire before it")
    func takesBackAfterNext() throws {
        let interval_ns: Int64 = 3_600_000_000_000
        var fleet: Fleet
        var next_ns: Int64
        // Repeats until the first fire comes before the third deadline: on a busy machine it may come too late.
        repeat {
            next_ns = cbench_now_ns() + 5_000_000
            fleet = try Fleet([CrowdTimer(first_ns: next_ns - 2 * interval_ns, interval_ns: interval_ns)])
        } while fleet.member(0).fire() != next_ns
        while cbench_now_ns() < next_ns {}
        // The timer fires separately for the second and the third deadline, and its thread is late for each.
        #expect(fleet.member(0).fire() == next_ns + interval_ns)
        #expect(fleet.member(0).fire() == next_ns + interval_ns)
        #expect(cbench_tally_early(fleet.tally) == 0)
        #expect(cbench_tally_missed(fleet.tally) == 0)
        // Only once: the next fire is early.
        fleet.member(0).fire()
        #expect(cbench_tally_early(fleet.tally) == 1)
    }

    @Test("does not uncount a missed deadline that was cleared since")
    func takesBackNothing() throws {
        let interval_ns: Int64 = 3_600_000_000_000
        let fleet = try Fleet([CrowdTimer(first_ns: cbench_now_ns() - interval_ns, interval_ns: interval_ns)])
        fleet.member(0).fire()
        cbench_tally_clear(fleet.tally)
        fleet.member(0).fire()
        #expect(cbench_tally_missed(fleet.tally) == 0)
        #expect(cbench_tally_fires(fleet.tally) == 1)
    }

    @Test("loses no fire if several threads add at once")
    func threads() throws {
        let fleet = try Fleet([])
        _ = try onFreshThreads(4) { thread in
            for value in 0..<10_000 as Range<Int64> { cbench_tally_add(fleet.tally, value * Int64(thread)) }
        }
        #expect(cbench_tally_fires(fleet.tally) == 40_000)
        #expect(cbench_tally_latest_ns(fleet.tally) == 29_997)
    }
}

@Suite("bench crowd", .serialized, .timeLimit(.minutes(15)))
struct CrowdCommandTests {
    @Test("makes every face and rival fire, and none early", arguments: CrowdRival.all.map(\.id))
    func fires(id: String) async throws {
        // If other tests or programs keep all threads from tasks for that long, nothing fires, and the test tries again.
        var outcomes: [Outcome] = []
        repeat {
            outcomes = try await offThePool { try Self.measure(id) }
        } while outcomes.contains { $0.skippedBecause?.hasPrefix("nothing fired") == true }
        #expect(!outcomes.isEmpty)
        for outcome in outcomes {
            if id.hasPrefix("nio."), !Subject.hasNIO {
                #expect(outcome.skippedBecause?.contains("--traits NIO") == true)
                continue
            }
            #expect(outcome.skippedBecause == nil)
            #expect(outcome.firesPerSecond > 0)
            if id.hasPrefix("hrtimer.") || id.hasPrefix("kernel.") { #expect(outcome.early == 0) }
            #expect(outcome.text.contains(id))
            #expect(outcome.json.contains("\"cpu_ns_per_fire\""))
        }
    }

    private struct Outcome: Sendable {
        let skippedBecause: String?
        let firesPerSecond: Double
        let early: UInt64
        let text: String
        let json: String
    }

    private static func measure(_ id: String) throws -> [Outcome] {
        let options = try CrowdOptions.parse([
            "--timers", "10", "--rate", "200", "--only", id, "--rounds", "1", "--length", "30ms", "--phases",
            "random",
        ])
        let session = CrowdSession(options.plan, options.entries, rounds: 1, length_ns: options.length, seed: 1)
        session.run(Progress(.hidden))
        let report = CrowdReport(session: session, host: .now(), command: [])
        return session.results.map { result in
            Outcome(
                skippedBecause: result.skippedBecause,
                firesPerSecond: result.firesPerSecond ?? 0,
                early: result.early,
                text: report.text(Paint()),
                json: report.json.text()
            )
        }
    }

    @Test("measures rivals that take a tolerance with and without one, and all others once")
    func tolerances() throws {
        let entries = try CrowdOptions.parse(["--rate", "20"]).entries
        func tolerances(_ id: String) -> [Int64] { entries.filter { $0.rival.id == id }.map(\.tolerance_ns) }
        #expect(tolerances("dispatch.source") == [0, 5_000_000])
        #expect(tolerances("hrtimer.engine.normal") == [0])
    }

    @Test("refuses invalid values")
    func refuses() {
        let invalid = [
            "--rate": ["0", "10001", "nan", "x", "-1"], "--tolerance": ["", "-1ms", "2h"],
            "--length": ["", "1ms", "2h"], "--phases": ["", "odd", "clusters:2"],
        ]
        for (option, texts) in invalid {
            for text in texts { #expect(throws: (any Error).self) { try CrowdOptions.parse(["\(option)=\(text)"]) } }
        }
    }
}

/// Runs `body` on a thread outside of the cooperative pool. Some rivals need that pool, which has two threads on a small machine.
func offThePool<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "off-the-pool").async { continuation.resume(with: Result { try body() }) }
    }
}
