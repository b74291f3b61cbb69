// SPDX-License-Identifier: Apache-2.0
import Foundation
import HRTimerCore
import Testing

@testable import bench

@Suite("A report", .serialized, .timeLimit(.minutes(15)))
struct ReportTests {
    @Test("is JSON of schema 1")
    func isSchema1() throws {
        let report = JSONReport(sessions: [measured(blocks: 2)], host: .now(), command: ["bench", "a \"b\"\n"])
        let parsed = try JSONSerialization.jsonObject(with: Data(report.text.utf8))
        let root = try #require(parsed as? [String: Any])
        #expect(root["schema"] as? Int == 1)
        #expect(["debug", "release"].contains(root["build"] as? String))
        #expect(root["command"] as? [String] == ["bench", "a \"b\"\n"])
        #expect(root["seed"] as? Int == 5)
        #expect((root["host"] as? [String: Any])?["kernel"] is String)
        #expect((root["noise_floor"] as? [String: Any])?["id"] as? String == Subject.referenceID)
        #expect((root["operations"] as? [Any])?.isEmpty == true)

        let results = try #require(root["results"] as? [[String: Any]])
        #expect(results.map { $0["id"] as? String } == [Subject.referenceID, "kernel.spin-clock"])
        for result in results { try checkResult(result) }
    }

    private func checkResult(_ result: [String: Any]) throws {
        #expect(result["interval_ns"] as? Int == 1_000_000)
        // Two blocks of 20 fires, without the ticks that a busy machine misses.
        let n = try #require(result["n"] as? Int)
        #expect((1...40).contains(n))
        #expect(result["early"] as? Int == 0)
        #expect(result["missed"] is Int)
        #expect(result["skipped_because"] is NSNull)
        #expect(result["drift_ppm"] is Double)
        for key in ["cpu_ns_per_fire", "context_switches_per_fire", "wakeups_per_fire"] {
            #expect(result[key] is Double)
        }
        #expect((result["blocks"] as? [Any])?.count == 2)
        let histogram = try #require(result["histogram"] as? [[Int]])
        #expect(histogram.allSatisfy { $0.count == 2 })
        #expect(histogram.reduce(0) { $0 + $1[1] } == n)

        let lateness = try #require(result["lateness_ns"] as? [String: Any])
        for key in ["min", "p50", "max", "mean", "sd"] { #expect(lateness[key] is NSNumber, "\(key)") }
        // 40 fires are enough for p50 only.
        for key in ["p90", "p99", "p999"] { #expect(lateness[key] is NSNull, "\(key)") }
    }

    @Test("as text has the host, a histogram and a row for each subject, and the noise floor")
    func hasItsParts() throws {
        let text = JSONReport(sessions: [measured(blocks: 2)], host: .now(), command: []).text(TextView())
        // With a single kind of timer, no summary of the best of each kind comes first.
        #expect(text.hasPrefix("host\n"))
        #expect(text.contains("\nnoise floor: \(Subject.referenceID), measured twice"))
        // Once as heading of the histogram, once as row of the table.
        #expect(text.components(separatedBy: "\nkernel.spin-clock").count == 3)
        #expect(!text.contains("\u{1b}"))
    }

    @Test("keeps a subject that cannot run, and says why")
    func keepsWhatCannotRun() throws {
        let broken = Subject("kernel.broken", "never works") { _ in throw BenchError("no such system call") }
        let session = Session(plan([broken], blocks: 2))
        session.run(Progress(.hidden))
        #expect(session.results[0].skippedBecause == "no such system call")
        #expect(session.gateFailures == ["kernel.broken could not run: no such system call"])
        #expect(
            JSONReport(sessions: [session], host: .now(), command: []).text(TextView()).contains("no such system call")
        )
        #expect(JSONReport(sessions: [session], host: .now(), command: []).text.contains("no such system call"))
    }

    @Test("does not fail the gate for hardware that the machine lacks")
    func excusesMissingHardware() {
        let other = Subject("kernel.other", "not here") {
            try $0.fill({ _ in -ENOTSUP }, orSay: [ENOTSUP: "no such processor"])
        }
        let session = Session(plan([other], blocks: 1))
        session.run(Progress(.hidden))
        #expect(session.results[0].skippedBecause == "no such processor")
        #expect(!session.gateFailures.contains { $0.contains("kernel.other") })
    }

    @Test("fails the gate for early fires")
    func closesTheGate() {
        let early = Subject("hrtimer.early", "fires 1 ns early") { recorder in
            var deadline_ns = recorder.begin()
            while recorder.fire(deadline_ns - 1) { deadline_ns = recorder.nextDeadline_ns }
        }
        let session = Session(plan([early], blocks: 1))
        session.run(Progress(.hidden))
        // There may be other failures: tests that run meanwhile open descriptors.
        #expect(session.gateFailures.contains("hrtimer.early fired early 20 times"))
    }

    @Test("counts the timers and descriptors that a subject left behind")
    func countsWhatIsLeftBehind() {
        // More descriptors than tests that run meanwhile may close.
        let left = Locked<[Int32]>([])
        let leaky = Subject("hrtimer.leaky", "leaves two timers and 100 descriptors") { recorder in
            _ = recorder.begin()
            while recorder.fire(recorder.nextDeadline_ns) {}
            recorder.timersLeftBehind = 2
            for _ in 0..<100 {
                let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
                left.withLock { $0.append(descriptor) }
            }
        }
        let session = Session(plan([leaky], blocks: 1))
        session.run(Progress(.hidden))
        // Twice two timers, because the only subject is also its own control.
        #expect(session.gateFailures.contains("4 timers were left behind"))
        #expect(session.gateFailures.contains { $0.hasSuffix("descriptors were left open") })
        for descriptor in left.withLock({ $0 }) { close(descriptor) }
    }

    private func measured(blocks: Int) -> Session {
        let subjects = Subject.all.filter { [Subject.referenceID, "kernel.spin-clock"].contains($0.id) }
        let session = Session(plan(subjects, blocks: blocks))
        session.run(Progress(.hidden))
        return session
    }

    private func plan(_ subjects: [Subject], blocks: Int) -> Plan {
        Plan(subjects: subjects, interval: .milliseconds(1), blocks: blocks, block_ns: 20_000_000, seed: 5)
    }
}

@Suite("Text")
struct FormattingTests {
    @Test(
        "shows times with three digits",
        arguments: zip(
            [0, 812, 999.4, 999.6, 13_449, 1_070_000, -1_070_000, 99_960, 2.5e9, 4e12],
            ["0 ns", "812 ns", "999 ns", "1.00 µs", "13.4 µs", "1.07 ms", "-1.07 ms", "100 µs", "2.50 s", "4000 s"]
        )
    )
    func times(time_ns: Double, text: String) {
        #expect(timeText(time_ns) == text)
    }

    @Test("groups thousands")
    func groups() {
        #expect(0.grouped == "0")
        #expect(999.grouped == "999")
        #expect(1_000_005.grouped == "1,000,005")
        #expect((-1234).grouped == "-1,234")
    }

    @Test("draws early fires, and the empty steps between other fires")
    func plots() {
        let buckets = [
            Distribution.Bucket(low_ns: -5, count: 1), Distribution.Bucket(low_ns: 150, count: 1000),
            Distribution.Bucket(low_ns: 600, count: 2),
        ]
        let rows = HistogramPlot.rows(buckets, steps: HistogramPlot.series[0])
        #expect(rows.map(\.below_ns).first == 0)
        #expect(rows.map(\.below_ns).last == 1000)
        #expect(rows.filter { $0.count > 0 }.map(\.count) == [1, 1000, 2])
        let lines = HistogramPlot.lines(buckets, width: 80)
        #expect(lines.contains { $0.contains("early |▏") })
        #expect(lines.contains { $0.contains("1,000   99.7 %") })
    }

    @Test("draws bars in proportion to the counts")
    func bars() {
        let buckets = [Distribution.Bucket(low_ns: 110, count: 100), Distribution.Bucket(low_ns: 130, count: 1000)]
        let lengths = HistogramPlot.lines(buckets, width: 80).map { $0.filter { $0 == "█" }.count }
        #expect(lengths == [4, 47])
    }

    @Test("replaces many empty steps by one line")
    func leavesOutEmptySteps() {
        let buckets = [Distribution.Bucket(low_ns: 110, count: 1), Distribution.Bucket(low_ns: 9_000_000, count: 1)]
        let lines = HistogramPlot.lines(buckets)
        #expect(lines.count == 3)
        #expect(lines[1] == "          ⋮")
    }

    @Test("is never wider than the terminal", arguments: [40, 60, 80, 100, 132, 200])
    func fits(width: Int) throws {
        let file = try ResultFile.parse(Data(Sample.json.utf8), name: "sample")
        let text = ResultText(file: file, view: TextView(width: width, endsInShort: true)).text
        for line in text.split(separator: "\n") { #expect(line.count <= width, "\(line)") }
        #expect(text.contains("hrtimer.source.dispatch-queue.precise"))
    }

    @Test("wraps sentences at spaces, and keeps short ones")
    func wraps() {
        #expect(wrapped("  one two three", to: 9) == ["  one two", "  three"])
        #expect(wrapped("one two", to: nil) == ["one two"])
        #expect(wrapped("immeasurable", to: 5) == ["immeasurable"])
    }
}
