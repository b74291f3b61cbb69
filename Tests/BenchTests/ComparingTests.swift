// SPDX-License-Identifier: Apache-2.0
import Foundation
import Seeded
import Testing

@testable import bench

@Suite("Comparing two results")
struct ComparingTests {
    @Test("says same if blocks differ by less than the noise floor")
    func same() throws {
        let comparison = try Comparison(before: file(p50: 50_000), after: file(p50: 50_400))
        #expect(comparison.rows.map(\.verdict) == [.same])
    }

    @Test("says slower, or faster the other way round, if all blocks show the difference")
    func slower() throws {
        let old = try file(p50: 50_000), new = try file(p50: 70_000)
        #expect(try Comparison(before: old, after: new).rows.map(\.verdict) == [.slower])
        #expect(try Comparison(before: new, after: old).rows.map(\.verdict) == [.faster])
    }

    @Test("says unclear if blocks contradict each other, or are too few")
    func unclear() throws {
        let torn = try file(p50: 60_000, spread: 30_000)
        #expect(try Comparison(before: file(p50: 50_000), after: torn).rows.map(\.verdict) == [.unclear])
        let few = try file(p50: 90_000, blocks: 4)
        #expect(try Comparison(before: file(p50: 50_000, blocks: 4), after: few).rows.map(\.verdict) == [.unclear])
    }

    @Test("says same if the difference is below the noise floor of either run")
    func floors() throws {
        let noisy = try file(p50: 70_000, floor: 25_000)
        #expect(try Comparison(before: file(p50: 50_000), after: noisy).rows.map(\.verdict) == [.same])
        #expect(try Comparison(before: noisy, after: file(p50: 50_000)).rows.map(\.verdict) == [.same])
    }

    @Test("counts a change of the reference subject as noise of the machine")
    func reference() throws {
        let before = try file(p50: 50_000, others: [(Subject.referenceID, 40_000)])
        let after = try file(p50: 70_000, others: [(Subject.referenceID, 62_000)])
        #expect(try Comparison(before: before, after: after).rows.map(\.verdict) == [.same, .unclear])
    }

    @Test("says slower if a subject costs more, or now fires early")
    func costAndEarly() throws {
        let before = try file(p50: 50_000)
        #expect(try Comparison(before: before, after: file(p50: 50_000, cpu: 90_000)).rows.map(\.verdict) == [.slower])
        #expect(try Comparison(before: before, after: file(p50: 50_000, early: 1)).rows.map(\.verdict) == [.slower])
    }

    @Test("refuses to compare different builds, or results without a common subject")
    func refusals() throws {
        let before = try file(p50: 50_000)
        let debug = try file(p50: 50_000, build: "debug")
        let mixed = #expect(throws: BenchError.self) { try Comparison(before: before, after: debug) }
        #expect(mixed?.description.contains("one result is of a release build, the other of a debug build") == true)
        let other = try file(p50: 50_000, id: "kernel.other")
        #expect(throws: BenchError.self) { try Comparison(before: before, after: other) }
    }

    @Test("refuses to compare or join results whose handlers computed for different times, and names the argument")
    func work() throws {
        // A result without the member is of handlers that compute nothing.
        let none = try file(p50: 50_000), working = try file(p50: 50_000, work_ns: 100_000)
        #expect(try Comparison(before: working, after: working).rows.map(\.verdict) == [.same])
        #expect(try Comparison(before: none, after: file(p50: 50_000, work_ns: 0)).rows.map(\.verdict) == [.same])
        let error = #expect(throws: BenchError.self) { try Comparison(before: none, after: working) }
        #expect(
            error?.description.contains(
                "one result is of --work 0 ns, the other of --work 100 µs: measure both with the same --work"
            ) == true
        )
        #expect(throws: BenchError.self) { try ResultFile.joined([working, none]) }
        #expect(throws: BenchError.self) { try working.mustHaveSameWork(as: 0) }
    }

    @Test("names the subjects that only one result has")
    func unmatched() throws {
        let before = try file(p50: 50_000, others: [("kernel.gone", 1000)])
        let after = try file(p50: 50_000, others: [("kernel.new", 1000)])
        let comparison = try Comparison(before: before, after: after)
        #expect(comparison.onlyBefore == ["kernel.gone@1.00ms"])
        #expect(comparison.onlyAfter == ["kernel.new@1.00ms"])
    }

    @Test("finds no difference between noisy runs that have none")
    func falseAlarms() throws {
        var random = SeededRandom(seed: 11)
        var alarms = 0
        for _ in 0..<10 {
            // Nine blocks around 60 µs with a third of that as noise, as on a busy machine.
            func noisy() throws -> ResultFile {
                try file(medians: (0..<9).map { _ in 60_000 + .random(in: -20_000...20_000, using: &random) })
            }
            let verdict = try Comparison(before: noisy(), after: noisy()).rows[0].verdict
            if verdict == .faster || verdict == .slower { alarms += 1 }
        }
        #expect(alarms <= 1)
    }

    @Test("finds 300 ns more in a subject that spins, and ignores them in one that is woken")
    func spinning() throws {
        let id = "hrtimer.source.precise"
        let before = try file(p50: 158, spread: 20, floor: 10, id: id)
        #expect(
            try Comparison(before: before, after: file(p50: 458, spread: 20, id: id)).rows[0].reasons == [
                "later at p50"
            ]
        )
        let woken = try file(p50: 50_000)
        #expect(try Comparison(before: woken, after: file(p50: 50_300)).rows.map(\.verdict) == [.same])
    }

    @Test("finds fewer fires within 1 µs, a later p99 and 2 µs more processor time, and names which it found")
    func others() throws {
        let id = "hrtimer.source.precise"
        func reasons(exact: Int = 180, p99: Int64 = 4000, cpu: Double = 40_000) throws -> [String] {
            let before = try file(p50: 300, spread: 20, floor: 10, cpu: 40_000, id: id, exact: 180, p99: 4000)
            let after = try file(p50: 300, spread: 20, floor: 10, cpu: cpu, id: id, exact: exact, p99: p99)
            return try Comparison(before: before, after: after).rows[0].reasons
        }
        #expect(try reasons() == [])
        #expect(try reasons(exact: 170) == ["fewer within 1 µs"])
        #expect(try reasons(exact: 190) == ["more within 1 µs"])
        #expect(try reasons(exact: 178) == [])
        #expect(try reasons(p99: 5000) == ["later at p99"])
        #expect(try reasons(p99: 4500) == [])
        #expect(try reasons(cpu: 42_000) == ["dearer"])
        #expect(try reasons(cpu: 39_000) == ["cheaper"])
    }

    @Test("joins several runs of each build into one, round by round")
    func joined() throws {
        // Four runs of three blocks: no single run has enough for a verdict.
        let before = try (0..<4).map { try file(p50: 50_000 + Int64($0) * 4000, blocks: 3) }
        let after = try (0..<4).map { try file(p50: 60_000 + Int64($0) * 4000, blocks: 3) }
        #expect(try Comparison(before: before[0], after: after[0]).rows.map(\.verdict) == [.unclear])
        let comparison = try Comparison(before: .joined(before), after: .joined(after))
        #expect(comparison.rows.map(\.verdict) == [.slower])
        #expect(comparison.rows[0][.p50]?.interval == ConfidenceInterval(low: 10_000, high: 10_000))
    }

    @Test("needs nine pairs of blocks, and returns the published bounds of the signed ranks")
    func signedRanks() throws {
        #expect(SignedRank.interval(of: (1...8).map(Double.init)) == nil)
        #expect(SignedRank.interval(of: (1...9).map(Double.init)) == ConfidenceInterval(low: 1, high: 9))
        // Hollander and Wolfe, table A.4: for n = 10, P(T+ >= 47) = 0.024, so the 95.2 % interval begins with the ninth average.
        let ten = try #require(SignedRank.interval(of: (1...10).map(Double.init), doubt: 0.05))
        let averages = (1...10).flatMap { first in (first...10).map { Double(first + $0) / 2 } }.sorted()
        #expect(ten == ConfidenceInterval(low: averages[8], high: averages[averages.count - 9]))
    }

    @Test(
        "has an interval that contains the true median in nearly all draws, with few blocks and with many",
        arguments: [12, 60, 61, 90]
    )
    func holdsTheMiddle(blocks: Int) throws {
        var random = SeededRandom(seed: 3)
        let held = try (0..<200).filter { _ in
            let values = (0..<blocks).map { _ in Double.random(in: -1...1, using: &random) }
            return try !#require(SignedRank.interval(of: values, doubt: 0.05)).excludes(0)
        }
        #expect((180...199).contains(held.count))
    }

    private func file(
        p50: Int64,
        spread: Int64 = 300,
        blocks: Int = 9,
        floor: Int64 = 100,
        cpu: Double = 30_000,
        early: Int = 0,
        build: String = "release",
        id: String = "hrtimer.source.normal",
        exact: Int? = nil,
        p99: Int64? = nil,
        work_ns: Int64? = nil,
        others: [(String, Int64)] = []
    ) throws -> ResultFile {
        let medians = (0..<blocks).map { p50 + (Int64($0 % 3) - 1) * spread }
        return try file(
            medians: medians,
            floor: floor,
            cpu: cpu,
            early: early,
            build: build,
            id: id,
            exact: exact,
            p99: p99,
            work_ns: work_ns,
            others: others
        )
    }

    private func file(
        medians: [Int64],
        floor: Int64 = 100,
        cpu: Double = 30_000,
        early: Int = 0,
        build: String = "release",
        id: String = "hrtimer.source.normal",
        exact: Int? = nil,
        p99: Int64? = nil,
        work_ns: Int64? = nil,
        others: [(String, Int64)] = []
    ) throws -> ResultFile {
        let rows =
            [row(id, medians, cpu: cpu, early: early, exact: exact, p99: p99)]
            + others.map { row($0.0, medians.map { _ in others[0].1 }, cpu: cpu) }
        let text = """
            {"schema": 1, "build": "\(build)", \(work_ns.map { "\"work_ns\": \($0), " } ?? "")"results": [\(rows.joined(separator: ","))],
             "noise_floors": [{"id": "a", "kind": "\(Subject.kind(of: id).rawValue)", "interval_ns": 1000000, "p50_ns": \(floor)}]}
            """
        return try ResultFile.parse(Data(text.utf8), name: "made up")
    }

    private func row(
        _ id: String,
        _ medians: [Int64],
        cpu: Double,
        early: Int = 0,
        exact: Int? = nil,
        p99: Int64? = nil
    ) -> String {
        let more = (exact.map { ", \"within_1us\": \($0)" } ?? "") + (p99.map { ", \"p99_ns\": \($0)" } ?? "")
        let blocks = medians.enumerated().map { round, median in
            "{\"round\": \(round), \"n\": 200, \"p50_ns\": \(median), \"cpu_ns_per_fire\": \(cpu)\(more), \"marked\": false}"
        }
        return """
            {"id": "\(id)", "interval_ns": 1000000, "n": 1800, "early": \(early), "missed": 0,
             "lateness_ns": {"p50": \(medians.sorted()[medians.count / 2])}, "cpu_ns_per_fire": \(cpu),
             "blocks": [\(blocks.joined(separator: ","))], "histogram": []}
            """
    }
}

@Suite("Thresholds")
struct ThresholdTests {
    @Test("are met or exceeded, and each line says by which figure")
    func checks() throws {
        let file = try Sample.file()
        let lines = try thresholds(
            """
            {"rules": [{"id": "hrtimer.*", "early_max": 0}, {"id": "kernel.*", "wakeups_per_fire_max": 1.5},
             {"id": "hrtimer.loop-timer.normal", "ratio_to": "foundation.timer", "p50_ratio_max": 0.5, "cpu_ratio_max": 1}]}
            """
        ).check(file)
        #expect(
            lines.filter { !$0.isMet } == [
                CheckLine(
                    name: "hrtimer.source.dispatch-queue.precise@1.00ms",
                    isMet: false,
                    text: "early 1, at most 0"
                ),
                CheckLine(
                    name: "hrtimer.loop-timer.normal@1.00ms",
                    isMet: false,
                    text: "p50 / foundation.timer 0.917, at most 0.500"
                ),
            ]
        )
        #expect(lines.filter(\.isMet).count == 4)
    }

    @Test("fail for subjects that were not measured, unless they may be skipped, and for unknown subjects")
    func skipped() throws {
        let file = try Sample.file()
        func check(_ rule: String) throws -> [CheckLine] { try thresholds("{\"rules\": [\(rule)]}").check(file) }
        #expect(try check("{\"id\": \"libevent.default\", \"early_max\": 0}").map(\.isMet) == [false])
        #expect(
            try check("{\"id\": \"libevent.default\", \"early_max\": 0, \"may_skip\": true}").map(\.isMet) == [true]
        )
        #expect(try check("{\"id\": \"no.such\", \"early_max\": 0, \"may_skip\": true}").map(\.isMet) == [false])
    }

    @Test(
        "that are invalid are refused with one line",
        arguments: [
            ("{\"rules\": []}", "rules is empty"), ("{}", "rules is missing"), ("nonsense", "it is not JSON"),
            ("{\"rules\": [{\"id\": \"a\", \"early_maximum\": 0}]}", "has 'early_maximum'; a rule takes id,"),
            ("{\"rules\": [{\"id\": \"a\", \"p50_ratio_max\": 2}]}", "no ratio_to"),
            ("{\"rules\": [{\"id\": \"a\"}]}", "sets no limit"),
        ]
    )
    func refusals(text: String, wanted: String) throws {
        let error = #expect(throws: BenchError.self) { try thresholds(text) }
        let description = try #require(error).description
        #expect(description.hasPrefix("limits.json"))
        #expect(description.contains(wanted), "\(description)")
        #expect(!description.contains("\n"))
    }

    @Test("in the repository's example are valid")
    func example() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let limits = try Thresholds.read(root.appendingPathComponent("Benchmarks/thresholds.json").path)
        for rule in limits.rules { #expect(Subject.all.contains { $0.id.matches(rule.id) }, "\(rule.id)") }
    }

    private func thresholds(_ text: String) throws -> Thresholds {
        try Thresholds.parse(Data(text.utf8), name: "limits.json")
    }
}
