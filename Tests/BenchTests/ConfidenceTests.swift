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

@Suite("The live table")
struct LiveTableTests {
    @Test("fits any terminal, and shows how many rows it left out", arguments: [20, 40, 80, 200])
    func fits(width: Int) {
        let results = Subject.all.map { SubjectResult($0, interval_ns: 1_000_000) }
        for height in [5, 24, 200] {
            let lines = LiveTable.table(results, round: 1, of: 9, width: width, height: height)
            #expect(lines.allSatisfy { $0.count < width })
            #expect(lines.count < height)
            #expect(lines.count == min(results.count + 1, height - 2))
            if height < results.count { #expect(lines[lines.count - 1].hasPrefix("… ")) }
        }
    }
}

@Suite("An explanation")
struct ExplanationTests {
    @Test("exists for every subject, with a trap and a demonstration of it", arguments: Subject.all.map(\.id))
    func isThere(id: String) throws {
        let subject = try #require(Subject.all.first { $0.id == id })
        let explanation = try #require(Explanation.of(subject))
        #expect(!explanation.call.isEmpty && !explanation.manual.isEmpty && !explanation.traps.isEmpty)
        let shown = try #require(explanation.traps.compactMap(\.demonstration).first)
        #expect(shown.rows.count == 2)
        for row in shown.rows { #expect(Subject.all.contains { $0.id == row.subjectID }, "\(row.subjectID)") }
        #expect(shown.fires * Int(shown.interval_ns) <= 2_000_000_000)
        let figures = Demonstration.Figures(p50_ns: 1, max_ns: 2, cpuPerFire_ns: 3, pageFaultsPerFire: 0)
        #expect(!shown.says([figures, figures]).isEmpty)
    }

    @Test("demonstrates a trap by measuring its rows")
    func measures() throws {
        let row = Demonstration.Row("sleep", Subject.referenceID, slack_ns: 1)
        let short = Demonstration(interval_ns: 1_000_000, fires: 6, rows: [row, row]) { "\($0.count) rows" }
        let figures = try DemonstrationRun.figures(short)
        #expect(figures.count == 2)
        #expect(figures.allSatisfy { 0 <= $0.p50_ns && $0.p50_ns <= $0.max_ns })
        let lines = DemonstrationRun.lines(short, figures)
        #expect(lines.count == 4)
        #expect(lines[3] == "  2 rows")
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
