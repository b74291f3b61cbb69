// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Glibc
import Testing

@testable import bench

@Suite("The command line")
struct RunOptionsTests {
    @Test("without arguments selects the default subjects at 1 ms, as text")
    func hasDefaults() throws {
        let options = try RunOptions.parse([])
        #expect(options.preset == .quick)
        #expect(options.plans.map(\.interval_ns) == [1_000_000])
        #expect(options.subjects.map(\.id) == Subject.all.filter { $0.isDefault && $0.interval_ns == nil }.map(\.id))
        #expect(!options.subjects.contains { $0.id == "kernel.ppoll" })
        #expect(options.common.format.isEmpty)
    }

    @Test("measures display links at a display's rate if they are named, in blocks as long as all others")
    func displayLinkRates() throws {
        let options = try RunOptions.parse([
            "--only", "hrtimer.display-link.*hz", "--preset", "standard", "--seed", "1",
        ])
        let intervals_ns: [String: Int64] = [
            "59.94hz": 16_683_333, "60hz": 16_666_667, "120hz": 8_333_333, "144hz": 6_944_444, "1000hz": 1_000_000,
        ]
        #expect(Set(options.subjects.map(\.id)) == Set(intervals_ns.keys.map { "hrtimer.display-link.\($0)" }))
        let plan = try #require(options.plans.first)
        for subject in options.subjects {
            let interval_ns = plan.interval_ns(of: subject)
            #expect(intervals_ns[String(subject.id.dropFirst("hrtimer.display-link.".count))] == interval_ns)
            #expect(Int64(plan.firesPerBlock(of: subject)) == 1_200_000_000 / interval_ns)
        }
        #expect(throws: (any Error).self) { try RunOptions.parse(["--only", "*.60hz", "--sweep"]) }
        let swept = try RunOptions.parse(["--only", "hrtimer.display-link*", "--sweep"]).subjects
        #expect(swept.map(\.id) == ["hrtimer.display-link", "hrtimer.display-link.precise"])
    }

    @Test("measures at least 1,000 fires per subject by default")
    func quickIsEnough() {
        let plan = plan(preset: .quick)
        #expect(plan.firesPerBlock * plan.schedule.rounds >= 1000)
    }

    @Test("selects all subjects in the long presets, and named subjects whether they are default ones or not")
    func longPresetsHaveAll() throws {
        #expect(
            try RunOptions.parse(["--preset", "standard"]).subjects.map(\.id)
                == Subject.all.filter { $0.interval_ns == nil }.map(\.id)
        )
        #expect(try RunOptions.parse(["--only", "kernel.ppoll"]).subjects.map(\.id) == ["kernel.ppoll"])
    }

    @Test("takes a minute at most by default, and has no time limit if more is requested")
    func hasATimeLimit() throws {
        let plan = try #require(try RunOptions.parse([]).plans.first)
        // A round that has begun is finished: that is one more round, in which every block takes twice as long.
        let subject = try #require(plan.subjects.first)
        let block_ns = Int64(plan.firesPerBlock) * plan.interval_ns + plan.patience_ns(of: subject)
        let round_ns = Int64(plan.subjects.count + 1) * block_ns
        #expect(try #require(plan.limit_ns) + round_ns <= 60_000_000_000)
        #expect(plan.expected < .seconds(50))
        #expect(try RunOptions.parse(["--blocks", "9"]).plans.first?.limit_ns == nil)
        #expect(Preset.standard.limit_ns == nil)
    }

    @Test("is that of run if no subcommand is named")
    func runsByDefault() throws {
        #expect(try Bench.parseAsRoot([]) is RunCommand)
        #expect(try Bench.parseAsRoot(["run", "--preset", "smoke"]) is RunCommand)
        #expect(try Bench.parseAsRoot(["list"]) is ListCommand)
    }

    @Test(
        "accepts times with units",
        arguments: zip(
            ["10us", "250us", "250µs", "1ms", "16.667ms", "1s", "1000000ns"],
            [10_000, 250_000, 250_000, 1_000_000, 16_667_000, 1_000_000_000, 1_000_000]
        )
    )
    func takesTimes(text: String, nanoseconds: Int64) throws {
        #expect(try RunOptions.parse(["--interval", text]).interval == [nanoseconds])
    }

    @Test("measures at each interval that is named, in their order, for as long as it takes")
    func takesSeveralIntervals() throws {
        let plans = try RunOptions.parse(["--interval", "1ms", "--interval", "16.667ms", "--work", "100us"]).plans
        #expect(plans.map(\.interval_ns) == [1_000_000, 16_667_000])
        #expect(plans.allSatisfy { $0.limit_ns == nil && $0.firesPerBlock >= 6 })
        #expect(throws: (any Error).self) {
            try RunOptions.parse(["--interval", "16.667ms", "--interval", "1ms", "--work", "2ms"])
        }
    }

    @Test("sweeps from 50 us to 1 s with fewer fires at long intervals")
    func sweeps() throws {
        let plans = try RunOptions.parse(["--sweep", "--seed", "1"]).plans
        #expect(plans.count == 9)
        #expect(plans.first?.interval_ns == 50_000)
        #expect(plans.last?.interval_ns == 1_000_000_000)
        #expect(plans.map(\.firesPerBlock) == plans.map(\.firesPerBlock).sorted(by: >))
        #expect(plans.last?.firesPerBlock == 2)
        #expect(try RunOptions.parse(["--seed", "1"]).plans.map(\.interval_ns) == [1_000_000])
    }

    @Test("accepts processors as numbers and ranges")
    func takesProcessors() throws {
        #expect(try parseCPUs("0") == 1)
        #expect(throws: (any Error).self) { try parseCPUs("0-64") }
    }

    @Test("selects subjects by glob")
    func choosesSubjects() throws {
        let options = try RunOptions.parse(["--only", "kernel.*", "--only", "dispatch.source", "--skip", "*.timerfd-*"])
        let ids = options.subjects.map(\.id)
        #expect(ids.contains(Subject.referenceID))
        #expect(ids.contains("dispatch.source"))
        #expect(ids.allSatisfy { $0.hasPrefix("kernel.") || $0 == "dispatch.source" })
        #expect(!ids.contains("kernel.timerfd-read"))
    }

    @Test(
        "refuses an invalid value with one line that names the option, and exit code 64",
        arguments: [
            ["--interval", "0"], ["--interval", "0ms"], ["--interval", "3days"], ["--interval", "2s"],
            ["--interval", "-1ms"], ["--interval", "nan"], ["--interval", "nanms"], ["--interval", "1"],
            ["--interval", "infs"], ["--only", "no.such"], ["--skip", "no.such"], ["--blocks", "0"],
            ["--settle", "-1"], ["--settle", "1001"], ["--settle", "x"],
            ["--blocks", "many"], ["--seed", "-1"], ["--preset", "eternal"], ["--format", "yaml"], ["--color", "blue"],
            ["--cpu", ""], ["--cpu", "64"], ["--cpu", "1-0"], ["--cpu", "0,,1"], ["--cpu", "-1"], ["--load", "heavy"],
            ["--load", "timers:0"],
        ]
    )
    func refusesBadValues(arguments: [String]) throws {
        let error = #expect(throws: (any Error).self) { try RunOptions.parse(arguments) }
        let thrown = try #require(error)
        #expect(RunOptions.exitCode(for: thrown).rawValue == 64)
        let message = RunOptions.message(for: thrown)
        #expect(message.contains(arguments[0]))
        #expect(!message.contains("\n"))
    }

    @Test("refuses a sweep together with an interval")
    func refusesSweepWithInterval() throws {
        let error = #expect(throws: (any Error).self) { try RunOptions.parse(["--sweep", "--interval", "1ms"]) }
        #expect(RunOptions.message(for: try #require(error)).hasPrefix("--sweep has intervals of its own"))
    }

    @Test("refuses a selection without subjects")
    func refusesNothing() {
        #expect(throws: (any Error).self) { try RunOptions.parse(["--only", "kernel.*", "--skip", "kernel.*"]) }
    }

    @Test("reports before measuring that a file cannot be written")
    func refusesUnwritableFiles() {
        let error = #expect(throws: BenchError.self) { try ReportOutput.file("/no/such/directory/result.json") }
        #expect(error?.description.hasPrefix("-o takes") == true)
    }

    @Test("appends to the file to which the shell redirects standard output")
    func keepsWhatIsThere() throws {
        let file = try #require(tmpfile())
        defer { fclose(file) }
        let descriptor = fileno(file)
        try ReportOutput.continuing(descriptor, name: "a file").write("one\n")
        try ReportOutput.continuing(descriptor, name: "a file").write("two\n")
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        #expect(String(decoding: bytes.prefix(count), as: UTF8.self) == "one\ntwo\n")
    }

    private func plan(preset: Preset) -> Plan {
        Plan(
            subjects: Subject.all,
            interval: .milliseconds(1),
            blocks: preset.blocks,
            block_ns: preset.block_ns,
            seed: 1
        )
    }
}
