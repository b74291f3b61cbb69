// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CBench
import Foundation
import HRTimer
import Testing

@testable import bench

@Suite("bench vsync")
struct VsyncCommandTests {
    @Test("looks for every source unless some are named")
    func options() throws {
        let all = try VsyncCommand.parse([])
        #expect(all.source == [])
        #expect(all.seconds == 3)
        let some = try VsyncCommand.parse([
            "--source", "x11", "--source", "virtual", "--seconds", "0.5", "--rate", "60000/1001",
        ])
        #expect(some.source == [.x11, .virtual])
        #expect(some.rate == FrameRate(60_000, 1001))
        #expect(try Bench.parseAsRoot(["vsync"]) is VsyncCommand)
    }

    @Test(
        "refuses an invalid value with one line that names the option, and exit code 64",
        arguments: [
            ["--source", "moon"], ["--seconds", "0"], ["--seconds", "601"], ["--seconds", "nan"], ["--seconds", "x"],
            ["--rate", "0"], ["--rate", "-60"], ["--rate", "60/0"], ["--rate", "x"], ["--seed", "1"],
        ]
    )
    func refusesBadValues(arguments: [String]) throws {
        let error = #expect(throws: (any Error).self) { try VsyncCommand.parse(arguments) }
        let thrown = try #require(error)
        #expect(VsyncCommand.exitCode(for: thrown).rawValue == 64)
        let message = VsyncCommand.message(for: thrown)
        #expect(message.contains(arguments[0]))
        #expect(!message.contains("\n"))
    }

    @Test("measures the virtual display, and says why a source is not available")
    @available(*, noasync)
    func measures() throws {
        let session = VsyncSession([.virtual, .drm], rate: FrameRate(200), seconds: 0.2)
        session.run()
        let virtual = try #require(session.results.first)
        #expect(virtual.framesPerSecond == 200)
        // A busy machine drops frames. There cannot be more calls than frames.
        #expect((1...43).contains(virtual.calls))
        #expect(virtual.deviations_ns.count == virtual.calls)
        let kernel = try #require(virtual.kernel)
        #expect((1...40).contains(kernel.lateness_ns.count))
        #expect(kernel.lateness_ns.count + kernel.missed <= 43)
        #expect(kernel.lateness_ns.allSatisfy { $0 >= 0 })
        let report = VsyncReport(session: session, host: HostReport(facts: []), command: ["vsync"])
        let text = report.text(Paint())
        #expect(text.contains("virtual") && text.contains("200.0000 Hz"))
        let json = report.json.text()
        #expect(text.contains("\n  kernel "))
        #expect(json.contains("\"measured_hz\": 200.0") && json.contains("\"lateness_ns\""))
        #expect(try schemaViolations(in: JSONSerialization.jsonObject(with: Data(json.utf8))) == [])
        for result in session.results where result.refusal != nil {
            #expect(text.contains("\(result.kind.rawValue.padded(to: 8))  not found: "))
            #expect(json.contains("refused_because"))
        }
    }

    @Test("counts the deadlines that the thread on the kernel's own timer missed")
    func kernelMisses() {
        let fires: [(Int64, Int64)] = [(100, 107), (200, 201), (500, 530), (600, 600)]
        let ticks = KernelTicks(fires.map { Fire(deadline_ns: $0.0, woke_ns: $0.1, processor: 0) }, period_ns: 100)
        #expect(ticks.lateness_ns == [0, 1, 7, 30])
        #expect(ticks.missed == 2)
    }

    @Test("has a percentile only if ten values lie beyond it")
    func percentiles() {
        let values = (1...1000).map(Int64.init)
        #expect(values.percentile(50) == 501)
        #expect(values.percentile(99) == 991)
        #expect(values.percentile(99.9) == nil)
        #expect([Int64]().percentile(50) == nil)
    }

    @Test("fits a line through the refreshes, to compare the calls with")
    func line() throws {
        let instants_ns = [0, 100, 200, 400, 500].map { Int64($0) + 7 }
        let line = try #require(VsyncResult.Line(instants_ns, period_ns: 101))
        #expect(line.numbers == [0, 1, 2, 4, 5])
        #expect(line.numbers.map { line.offset_ns($0).rounded() } == [0, 100, 200, 400, 500])
        #expect(VsyncResult.Line([7], period_ns: 100) == nil)
    }
}
