// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import bench

@Suite("A Pareto front") struct ParetoTests {
    /// Returns rows of ten fires each, of which `exact` are exact, at `cpu_ns` of processor time per fire.
    private func rows(_ rows: [(id: String, exact: Int, cpu_ns: Int)], interval_ns: Int = 1_000_000) throws
        -> [ResultRow]
    {
        let results = rows.map { row in
            """
            {"id": "\(row.id)", "interval_ns": \(interval_ns), "n": 10, "early": 0, "missed": 0, "lateness_ns": {},
             "cpu_ns_per_fire": \(row.cpu_ns), "blocks": [], "histogram": [[900, \(row.exact)], [50000, \(10 - row.exact)]]}
            """
        }
        let json = #"{"schema": 1, "build": "release", "results": [\#(results.joined(separator: ","))]}"#
        return try ResultFile.parse(Data(json.utf8), name: "rows").rows
    }

    private let margins = [("kernel.called.slack-1.40us", 2, 30_000), ("kernel.called.slack-1.120us", 8, 60_000)]

    @Test("holds the loss of a subject against the least loss of a fixed margin, for each bound")
    func regret() throws {
        let pareto = Pareto(try rows(margins + [("hrtimer.source.precise", 9, 50_000)]), interval_ns: 1_000_000)
        let point = try #require(pareto.points.first { $0.id == "hrtimer.source.precise" })
        // 50 µs and a tenth of 500, over 60 µs and two tenths of 500.
        #expect(abs(pareto.regret(point, 1)! - 100_000.0 / 160_000) < 1e-9)
        #expect(pareto.margins.map { pareto.regret($0, 1)! }.min() == 1)
        let alone = Pareto(try rows([("hrtimer.source.precise", 9, 50_000)]), interval_ns: 1_000_000)
        #expect(alone.regret(point, 1) == nil && alone.margins.isEmpty)
    }

    /// Returns a row of a hundred fires in each of some blocks, of which so many come in time, each for 50 µs.
    private func row(_ id: String, inTime: [Int]) throws -> ResultRow {
        let blocks = inTime.enumerated().map { round, count in
            """
            {"round": \(round), "n": 100, "p50_ns": 900, "max_ns": 50000, "marked": false, "cpu_ns_per_fire": 50000,
             "within_1us": \(count), "within_5us": \(count)}
            """
        }
        let (all, exact) = (100 * inTime.count, inTime.reduce(0, +))
        let json = """
            {"schema": 1, "build": "release", "results": [{"id": "\(id)", "interval_ns": 1000000, "n": \(all), "early": 0, "missed": 0,
             "lateness_ns": {}, "cpu_ns_per_fire": 50000, "blocks": [\(blocks.joined(separator: ","))],
             "histogram": [[900, \(exact)], [50000, \(all - exact)]]}]}
            """
        return try #require(try ResultFile.parse(Data(json.utf8), name: "rows").rows.first)
    }

    @Test("tells within which bounds a regret lies, by how much the blocks differ")
    func ranges() throws {
        // A loss of 100 µs in each block of the margin, of 50 and of 150 µs in those of the subject.
        let margin = try row("kernel.called.slack-1.40us", inTime: [90, 90, 90, 90])
        let subject = try row("hrtimer.source.precise", inTime: [100, 80, 100, 80])
        let pareto = Pareto([margin, subject], interval_ns: 1_000_000)
        let point = try #require(pareto.points.first { $0.id == subject.id })
        #expect(abs(pareto.regret(point, 0)! - 1) < 1e-9)
        #expect(pareto.text.contains("0.50…1.50"), "half and one and a half times as much")
        #expect(pareto.regretRange(pareto.margins[0], 0) == 1...1)
    }

    @Test("tells no bounds of a regret for two blocks, nor where the margin has fewer of them than the subject")
    func noRange() throws {
        let margin = try row("kernel.called.slack-1.40us", inTime: [90, 90])
        for inTime in [[100, 80], [100, 80, 100]] {
            let subject = try row("hrtimer.source.precise", inTime: inTime)
            let pareto = Pareto([margin, subject], interval_ns: 1_000_000)
            #expect(pareto.regretRange(try #require(pareto.points.first { $0.id == subject.id }), 0) == nil)
        }
    }

    @Test("takes no margin whose loop takes the stamp itself, and calls no handler")
    func limits() throws {
        let hybrid = [("kernel.hybrid.slack-1.60us", 10, 1000)]
        #expect(Pareto(try rows(margins + hybrid), interval_ns: 1_000_000).margins.map(\.id) == margins.map(\.0))
        #expect(Pareto(try rows(hybrid), interval_ns: 1_000_000).margins.isEmpty)
    }

    @Test("counts fires that are late by a microsecond or less as exact, separately for each interval")
    func exact() throws {
        let all = try rows(margins) + rows([("hrtimer.source.precise", 9, 50_000)], interval_ns: 16_666_667)
        #expect(Pareto.all(all).map(\.interval_ns) == [1_000_000, 16_666_667])
        #expect(
            Pareto.all(all)[1].points == [
                Pareto.Point(id: "hrtimer.source.precise", shares: [0.9, 0.9], cpuPerFire_ns: 50_000, early: 0)
            ]
        )
    }

    @Test("shows shares, cost and regrets of each subject, and over several results their mean and the worst")
    func text() throws {
        let all = margins + [("hrtimer.source.precise", 9, 50_000)]
        let paretos = [
            Pareto(try rows(all), interval_ns: 1_000_000),
            Pareto(try rows(margins + [("hrtimer.source.precise", 6, 50_000)]), interval_ns: 1_000_000),
        ]
        let line = try #require(paretos[0].text.split(separator: "\n").first { $0.contains("hrtimer.source.precise") })
        for part in ["90.0 %", "50.0 µs", "5.0 %", "0.63"] { #expect(line.contains(part), "\(line)") }
        let summary = RegretSummary(paretos).text.split(separator: "\n").first { $0.contains("hrtimer.source.precise") }
        // The root of 0.625 times 1.5625.
        for part in ["0.99", "1.56"] { #expect(try #require(summary).contains(part), "\(summary ?? "")") }
    }
}
