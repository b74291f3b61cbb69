// SPDX-License-Identifier: Apache-2.0
import CBench
import Glibc
import HRTimerCore
import Testing

@testable import bench

@Suite("Confidence")
struct ConfidenceTests {
    @Test("needs three blocks with fires")
    func needsBlocks() {
        #expect(Confidence(blocks: [[1, 2], [3]], seed: 1) == nil)
        #expect(Confidence(blocks: [[1, 2], [3], []], seed: 1) == nil)
        #expect(Confidence(blocks: [[1], [2], [3]], seed: 1) != nil)
    }

    @Test("has zero width if all blocks are equal, and spans the blocks if they differ")
    func followsTheBlocks() throws {
        let block = (1...100).map { Int64($0) }
        let alike = try #require(Confidence(blocks: Array(repeating: block, count: 10), seed: 1))
        #expect(alike.p50_ns == 50...50)
        #expect(alike.p99_ns == 99...99)
        #expect(alike.mean_ns == 50.5...50.5)
        // Half of the blocks are 1,000 ns later: all the difference is between blocks, none within them.
        let late = block.map { $0 + 1000 }
        let mixed = try #require(Confidence(blocks: (0..<10).map { $0 % 2 == 0 ? block : late }, seed: 1))
        let middle = try #require(mixed.p50_ns)
        #expect(middle.lowerBound <= 100 && middle.upperBound >= 1001)
        #expect(mixed.mean_ns.lowerBound < 400 && mixed.mean_ns.upperBound > 700)
    }

    @Test("is the same for the same seed")
    func isReproducible() {
        let blocks: [[Int64]] = (0..<9).map { block in (0..<30).map { Int64(block * 7 + $0 * $0) } }
        #expect(Confidence(blocks: blocks, seed: 3) == Confidence(blocks: blocks, seed: 3))
        #expect(Confidence(blocks: blocks, seed: 3) != Confidence(blocks: blocks, seed: 4))
    }

    @Test("has no percentile if too few fires lie beyond it")
    func needsSupport() throws {
        let few = try #require(Confidence(blocks: [[1], [2], [3]], seed: 1))
        #expect(few.p50_ns == nil && few.p99_ns == nil)
    }
}

@Suite("The worst fires")
struct WorstFiresTests {
    @Test("are ten at most, the worst first, and earlier ones first if equal")
    func keepsTheWorst() {
        var worst = WorstFires()
        for index in 0..<30 as Range<Int64> {
            let late_ns = index * 7 % 15
            worst.add(Fire(deadline_ns: index * 100, woke_ns: index * 100 + late_ns, processor: 0), round: Int(index))
        }
        #expect(worst.entries.map(\.lateness_ns) == [14, 14, 13, 13, 12, 12, 11, 11, 10, 10])
        #expect(worst.entries[0].round == 2 && worst.entries[1].round == 17)
        #expect(worst.entries[0].woke_ns == 214)
    }
}

@Suite("An explanation")
struct ExplanationTests {
    @Test("exists for every subject, with a trap and a demonstration of it", arguments: Subject.all.map(\.id))
    func isThere(id: String) throws {
        let subject = try #require(Subject.all.first { $0.id == id })
        let explanation = try #require(Explanation.of(subject))
        #expect(!explanation.call.isEmpty && !explanation.manual.isEmpty && !explanation.traps.isEmpty)
        let shown = try #require(explanation.traps.compactMap(\.shown).first)
        if let rival = shown.rival { #expect(Subject.all.contains { $0.id == rival }, "\(rival)") }
        #expect(shown.fires * Int(shown.interval_ns) <= 2_000_000_000)
    }

    @Test("demonstrates a trap by measuring the subject beside another")
    func measures() throws {
        let short = Demonstration(rival: "kernel.spin-clock", fires: 6, slack_ns: 1)
        let table = try short.table(Subject.referenceID)
        #expect(table.rows.map(\.label) == ["\(Subject.referenceID), slack 1 ns", "kernel.spin-clock"])
        #expect(table.rows.allSatisfy { !$0.lateness_ns.isEmpty && $0.lateness_ns[0] >= 0 })
        #expect(table.lines().count == 3)
    }
}

@Suite("A time with its unit")
struct NanosecondsTextTests {
    @Test("has a number and a unit, and nothing else")
    func parses() {
        #expect(nanoseconds("250us") == 250_000)
        #expect(nanoseconds("1.5ms") == 1_500_000)
        #expect(nanoseconds("10m") == 600_000_000_000)
        #expect(nanoseconds("2h") == 7_200_000_000_000)
        for text in ["", "5", "ms", "-1ms", "nans", "infs", "1e30s", "1 ms x"] {
            #expect(nanoseconds(text) == nil, "\(text)")
        }
    }
}
