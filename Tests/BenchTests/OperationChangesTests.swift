// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import bench

@Suite("Comparing what operations cost")
struct OperationChangesTests {
    @Test("says slower, or faster the other way round, if all pairs of results show the difference")
    func slower() throws {
        let old = try files(own: 100), new = try files(own: 120)
        #expect(try verdict(old, new) == .slower)
        #expect(try verdict(new, old) == .faster)
    }

    @Test("says same if an operation differs by less than 5 %, or by less than 1 ns")
    func same() throws {
        #expect(try verdict(files(own: 100), files(own: 102)) == .same)
        #expect(try verdict(files(own: 6), files(own: 6.6)) == .same)
    }

    @Test("says unclear if pairs contradict each other, or are fewer than nine")
    func unclear() throws {
        #expect(try verdict(files(own: 100, spread: 0.5), files(own: 100)) == .unclear)
        #expect(try verdict(files(own: 100, count: 8), files(own: 200, count: 8)) == .unclear)
        #expect(try verdict(files(own: 100, count: 9), files(own: 200, count: 9)) == .slower)
    }

    @Test("counts what the rivals of an operation have moved by as noise")
    func rivals() throws {
        let old = try files(own: 100, rival: 50), new = try files(own: 120, rival: 65)
        #expect(try verdict(old, new) == .same)
        // An own rival may have changed.
        let own = try OperationChanges(
            before: files(own: 100, rival: 50, rivalID: "hrtimer.loop-timer"),
            after: files(own: 120, rival: 65, rivalID: "hrtimer.loop-timer")
        )
        #expect(own.rows.map(\.verdict) == [.slower, .slower])
    }

    @Test("says slower if an operation allocates more, or fires early")
    func counts() throws {
        #expect(try verdict(files(own: 100, allocations: 1), files(own: 100, allocations: 2)) == .slower)
        #expect(try verdict(files(own: 100, allocations: 1), files(own: 100, allocations: 1.01)) == .same)
        #expect(try verdict(files(own: 100), files(own: 100, early: 1)) == .slower)
    }

    @Test("compares by processor time where there is no time")
    func processorTime() throws {
        #expect(try verdict(files(own: 100, unit: "cpu_ns_per_op"), files(own: 150, unit: "cpu_ns_per_op")) == .slower)
    }

    @Test("refuses to compare different builds, or results without a common operation")
    func refusals() throws {
        let old = try files(own: 100)
        let mixed = #expect(throws: BenchError.self) {
            try OperationChanges(before: old, after: files(own: 100, build: "debug"))
        }
        #expect(mixed?.description == "the results are of debug and of release builds: measure both alike")
        let other = #expect(throws: BenchError.self) {
            try OperationChanges(before: old, after: files(own: 100, timers: 5))
        }
        #expect(other?.description == "the results have no operation in common")
    }

    @Test("are shown with their interval as text, and as JSON")
    func shown() throws {
        let changes = try OperationChanges(before: files(own: 100), after: files(own: 120))
        let text = changes.report.text(Paint())
        #expect(text.contains("slower   fire"))
        #expect(text.contains("  1,000  hrtimer.engine  100 ns  120 ns  [1.20 … 1.20], floor 5 %\n"))
        #expect(text.contains("\n0 faster, 1 slower, 0 same, 0 unclear\n"))
        #expect(changes.report.json.text().contains(#""operation": "fire""#))
    }

    private func verdict(_ before: [ResultFile], _ after: [ResultFile]) throws -> Verdict? {
        try OperationChanges(before: before, after: after).rows.first?.verdict
    }

    /// Results of an operation that takes `own` ns, in every other result by the part `spread` more.
    private func files(
        own: Double,
        spread: Double = 0,
        rival: Double? = nil,
        rivalID: String = "limit.greedy",
        allocations: Double = 0,
        early: Int = 0,
        count: Int = 12,
        timers: Int = 1000,
        unit: String = "ns_per_op",
        build: String = "release"
    ) throws -> [ResultFile] {
        try (0..<count).map { number in
            func row(_ id: String, _ time_ns: Double) -> String {
                let shown_ns = number % 2 == 0 ? time_ns : time_ns * (1 + spread)
                return """
                    {"id": "\(id)", "operation": "fire", "timers": \(timers), "\(unit)": \(shown_ns),
                     "allocations_per_op": \(allocations), "early": \(early)}
                    """
            }
            let rows = [row("hrtimer.engine", own)] + (rival.map { [row(rivalID, $0)] } ?? [])
            let text = """
                {"schema": 1, "build": "\(build)", "seed": 1, "results": [], "operations": [\(rows.joined(separator: ","))]}
                """
            return try ResultFile.parse(Data(text.utf8), name: "result")
        }
    }
}
