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

    @Test("to .hlog have a tagged line of four fields for each subject that fired")
    func log() throws {
        let lines = HdrText.log(try Sample.file(), startedAt: Date(timeIntervalSince1970: 1)).split(separator: "\n")
        #expect(lines[1] == "#[Histogram log format version 1.3]")
        #expect(lines[2] == "#[StartTime: 1.000 (seconds since epoch)]")
        let tagged = lines.filter { $0.hasPrefix("Tag=") }
        #expect(tagged.count == 7)
        #expect(tagged.allSatisfy { $0.split(separator: ",").count == 5 })
    }

    @Test(
        "encode numbers as the reference encoding does",
        arguments: [(0, [0]), (-1, [1]), (1, [2]), (63, [126]), (64, [128, 1]), (-65, [129, 1]), (8191, [254, 127])]
            as [(Int64, [UInt8])]
    )
    func zigZag(value: Int64, bytes: [UInt8]) {
        #expect(HdrCodec.zigZag(value) == bytes)
    }

    @Test("encode any number in at most nine bytes")
    func longestNumbers() {
        #expect(HdrCodec.zigZag(.max).count == 9)
        #expect(HdrCodec.zigZag(.min).count == 9)
    }

    @Test("store bytes in blocks that any zlib reads")
    func zlib() {
        #expect(HdrCodec.adler32(Array("Wikipedia".utf8)) == 0x11E6_0398)
        let packed = HdrCodec.zlib([7, 8])
        #expect(packed == [0x78, 0x01, 1, 2, 0, 0xfd, 0xff, 7, 8, 0, 0x18, 0, 0x10])
        // From 65,536 bytes on there are two blocks, and the first is not marked as the last.
        #expect(HdrCodec.zlib([UInt8](repeating: 0, count: 65_536))[2] == 0)
    }

    @Test(
        "use the same bucket indices as HdrHistogram",
        arguments: [(0, 0), (2047, 2047), (2048, 2048), (4095, 3071), (4096, 3072)] as [(Int64, Int)]
    )
    func places(value: Int64, index: Int) {
        #expect(HDRLayout.index(of: value) == index)
    }

    @Test("count early fires as 0 in formats without negative values")
    func earlyFires() {
        let counts = HdrCodec.counts(Distribution([.init(low_ns: -700, count: 2), .init(low_ns: 3, count: 5)]))
        #expect(counts == [2, 0, 0, 5])
    }

    @Test("to HTML and SVG load nothing from elsewhere, and are well-formed")
    func pictures() throws {
        let file = try Sample.file()
        let page = HTMLReport(file: file, json: Sample.json).text
        let picture = try PercentileChart.standalone(file)
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
            ([], ["a.html", "b.svg", "c.hlog", "d.md"], .text, [.html, .svg, .hlog, .markdown]),
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
