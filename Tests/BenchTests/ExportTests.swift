// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import Testing

@testable import bench

@Suite("Exports")
struct ExportTests {
    @Test("to CSV have a line for each subject, with quotes around values that contain commas")
    func csv() throws {
        let lines = TableExports.csv(try Sample.file()).components(separatedBy: "\r\n")
        #expect(lines.count == 10)
        let width = lines[0].split(separator: ",", omittingEmptySubsequences: false).count
        #expect(lines[1].split(separator: ",", omittingEmptySubsequences: false).count == width)
        #expect(lines[1].hasPrefix("kernel.clock-nanosleep-abs,1000000,2000,0,0,50000,"))
        #expect(lines[8].hasSuffix(",\"No such device, as far as this machine can tell\""))
        let quoted = Table(columns: [Column<String>("", "said") { .text($0) }], rows: ["say \"no\""])
        #expect(quoted.csv == "said\r\n\"say \"\"no\"\"\"\r\n")
    }

    @Test("to Markdown have a row for each subject, and the command")
    func markdown() throws {
        let text = TableExports.markdown(try Sample.file())
        #expect(text.contains("* command: `bench --seed 5`, build: "))
        #expect(text.components(separatedBy: "\n| `").count == 9)
        #expect(text.contains("| `libevent.default` | not measured: No such device"))
    }

    @Test("to .hgrm have HdrHistogram's heading, levels that never fall, and all fires at the end")
    func percentiles() throws {
        let row = try Sample.file().rows[0]
        let lines = HdrText.percentiles(row).split(separator: "\n")
        #expect(lines[0] == "       Value     Percentile TotalCount 1/(1-Percentile)")
        let levels = lines.dropFirst().prefix { !$0.hasPrefix("#") }.map { line in
            line.split(separator: " ").map { Double($0)! }
        }
        for (left, right) in zip(levels, levels.dropFirst()) {
            #expect(left[0] <= right[0] && left[1] <= right[1] && left[2] <= right[2])
        }
        #expect(levels.last?[1...] == [1, 2000])
        #expect(lines.contains { $0.hasPrefix("#[Max     =") && $0.hasSuffix("Total count    =         2000]") })
    }

    @Test("to .hgrm count early fires as 0, which has no negative values")
    func earlyFires() throws {
        let row = try #require(Sample.file().rows.first { $0.early > 0 })
        let first = try #require(HdrText.percentiles(row).split(separator: "\n").dropFirst().first)
        #expect(first.split(separator: " ").first == "0.000")
    }

    @Test(
        "have buckets as wide as HdrHistogram's",
        arguments: [(0, 1), (2047, 1), (2048, 2), (4095, 2), (4096, 4), (1_000_000, 512)] as [(Int64, Int64)]
    )
    func widths(value: Int64, width: Int64) {
        #expect(HDRLayout.width(of: value) == width)
    }

    @Test("to HTML and SVG load nothing from elsewhere, and are well-formed")
    func pictures() throws {
        let file = try Sample.file()
        let page = HTMLReport(file: file, json: Sample.json).text
        let picture = PercentileChart.standalone(file)
        for text in [page, picture] {
            #expect(!text.replacing("http://www.w3.org/2000/svg", with: "").contains("http"))
            #expect(!text.contains("NaN") && !text.contains("nan,") && !text.contains("inf"))
        }
        #expect(throws: Never.self) { _ = try XMLCheck.check(picture) }
        #expect(page.contains("hrtimer.source.dispatch-queue.precise"))
        #expect(page.contains("not measured: No such device"))
        #expect(page.contains("href=\"data:application/json;base64,\(Data(Sample.json.utf8).base64EncodedString())\""))
    }

    @Test(
        "go to standard output or to files, in the requested formats",
        arguments: [
            ([], [], .text, []), ([], ["x.json"], .text, [.json]), ([.json], [], .json, []),
            ([.json], ["x.json"], nil, [.json]), ([.text, .json], ["x"], .text, [.json]),
            ([.text], ["x"], nil, [.text]),
            ([], ["a.html", "b.svg", "c.csv", "d.md"], .text, [.html, .svg, .csv, .markdown]),
            ([.csv], ["x.json"], .csv, [.json]), ([.hgrm], ["percentiles"], nil, [.hgrm]),
            ([], ["dir.d/x"], .text, [.json]),
        ] as [([ReportFormat], [String], ReportFormat?, [ReportFormat])]
    )
    func routing(formats: [ReportFormat], paths: [String], standard: ReportFormat?, files: [ReportFormat]) throws {
        let routing = try Routing(formats: formats, files: paths)
        #expect(routing.standard == standard)
        #expect(routing.files.map(\.format) == files)
    }

    @Test("refuse two formats for standard output")
    func twoShapes() throws {
        let error = #expect(throws: ValidationError.self) { try Routing(formats: [.text, .json], files: []) }
        #expect(error?.message.contains("-o FILE") == true)
    }
}

/// Checks that elements are properly nested, and all closed.
private enum XMLCheck {
    static func check(_ text: String) throws {
        var open: [Substring] = []
        for piece in text.split(separator: "<").dropFirst(text.hasPrefix("<") ? 0 : 1) {
            guard let end = piece.firstIndex(of: ">") else { throw BenchError("no end: \(piece)") }
            let tag = piece[..<end]
            let name = tag.prefix { $0 != " " && $0 != "/" }
            if tag.hasPrefix("/") {
                guard open.popLast() == tag.dropFirst() else { throw BenchError("closed out of order: \(tag)") }
            } else if !tag.hasSuffix("/") {
                open.append(name)
            }
        }
        if !open.isEmpty { throw BenchError("never closed: \(open)") }
    }
}
