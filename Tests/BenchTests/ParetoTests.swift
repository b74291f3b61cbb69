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

    private let margins = [("kernel.hybrid.slack-1.40us", 2, 30_000), ("kernel.hybrid.slack-1.120us", 8, 60_000)]

    @Test("is linear between two fixed margins, and ends with them")
    func curve() throws {
        let pareto = Pareto(try rows(margins), interval_ns: 1_000_000)
        #expect(pareto.exact(at: 29_999) == nil)
        #expect(pareto.exact(at: 30_000) == 0.2)
        #expect(abs(pareto.exact(at: 45_000)! - 0.5) < 1e-9)
        #expect(pareto.exact(at: 90_000) == 0.8)
        #expect(pareto.cost(at: 0.1) == 30_000)
        #expect(abs(pareto.cost(at: 0.5)! - 45_000) < 1e-9)
        #expect(pareto.cost(at: 0.9) == nil)
    }

    @Test("leaves out a margin that costs more and is exact less often than another")
    func dominated() throws {
        let all = margins + [("kernel.hybrid.slack-1.60us", 1, 40_000), ("kernel.hybrid.slack-1.200us", 7, 90_000)]
        let pareto = Pareto(try rows(all), interval_ns: 1_000_000)
        #expect(abs(pareto.exact(at: 45_000)! - 0.5) < 1e-9)
        #expect(pareto.points.map(\.id).last == "kernel.hybrid.slack-1.200us")
    }

    @Test("counts fires that are late by a microsecond or less as exact, separately for each interval")
    func exact() throws {
        let all = try rows(margins) + rows([("hrtimer.source.precise", 9, 50_000)], interval_ns: 16_666_667)
        #expect(Pareto.all(all).map(\.interval_ns) == [1_000_000, 16_666_667])
        #expect(
            Pareto.all(all)[1].points == [
                Pareto.Point(id: "hrtimer.source.precise", exact: 0.9, cpuPerFire_ns: 50_000, early: 0)
            ]
        )
    }

    @Test("shows the exact share of fixed margins at a subject's cost, and their cost at its share")
    func text() throws {
        let pareto = Pareto(try rows(margins + [("hrtimer.source.precise", 5, 36_000)]), interval_ns: 1_000_000)
        let lines = pareto.text.split(separator: "\n")
        let line = try #require(lines.first { $0.contains("hrtimer.source.precise") })
        for part in ["50.0 %", "36.0 µs", "3.6 %", "32.0 %", "45.0 µs"] { #expect(line.contains(part), "\(line)") }
    }
}
