// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CBench
import Foundation
import Testing

@testable import bench

// Serialized, because rivals share the processors with everything that runs beside them.
@Suite("Operations", .serialized, .timeLimit(.minutes(15)))
struct OperationTests {
    @Test("of every queue fire no timer early or out of order", arguments: QueueOperations.workloads)
    func queuesKeepOrder(workload: QueueOperations.Workload) throws {
        for rival in QueueOperations.comparison(workload, timers: 100).rivals {
            let sample = try rival.measure(3)
            #expect(try #require(sample.nsPerOp) > 0, "\(rival.id)")
            #expect(sample.early == 0, "\(rival.id)")
            #expect(sample.inversions == 0, "\(rival.id)")
        }
    }

    private static let packages = Array(
        [
            PublicOperations.comparisons(timers: 10), ContendedOperations.comparisons(timers: 10),
            [FireOperations.comparison(timers: 10)], CoalesceOperations.comparisons(ownTimers: 10),
            TaskOperations.comparisons(ownTimers: 10), PacingOperations.comparisons,
            [StatisticsOperations.comparison], WatchedOperations.comparisons,
        ].joined()
    )

    @Test("of every package can be run", arguments: Self.packages.map { "\($0.operation) \($0.baseID)" })
    func packagesRun(name: String) async throws {
        let comparison = try #require(Self.packages.first { "\($0.operation) \($0.baseID)" == name })
        for rival in comparison.rivals
        where (Subject.hasNIO || !rival.id.hasPrefix("nio."))
            && (Subject.hasAsyncAlgorithms || !rival.id.hasPrefix("async-algorithms."))
        {
            let sample = try await offThePool { try rival.measure(3) }
            #expect(try #require(sample.compared) > 0, "\(rival.id)")
            #expect(sample.early == 0, "\(rival.id)")
        }
    }

    @Test("of several threads have the number of threads in their name, except for the usual four")
    func threads() throws {
        let names = ContendedOperations.comparisons(timers: 10, threads: 2).map(\.operation)
        #expect(names == ["arm-cancel-contended-2", "re-arm-contended-2", "move-contended-2"])
        #expect(ContendedOperations.comparisons(timers: 10).map(\.operation).contains("re-arm-contended"))
    }

    @Test("report the memory that a pending timer takes")
    func memory() throws {
        let engine = try #require(CrowdRival.all.first { $0.id == "hrtimer.engine.normal" })
        // Other tests of this process free memory meanwhile, so that the test expects no more than a number.
        #expect(try MemoryOperations.bytesPerTimer(of: engine, timers: 1000) >= 0)
        #expect(MemoryOperations.comparison(timers: 10_000).rivals.count == CrowdRival.all.count)
    }

    @Test("are compared by time, else by wake-ups if their minimum is known, else by processor time")
    func comparesBy() {
        #expect(OperationSample(nsPerOp: 1, cpuPerOp_ns: 2).compared == 1)
        #expect(OperationSample(nsPerOp: nil, cpuPerOp_ns: 2, wakeupsPerSecond: 3).compared == 2)
        let wakeups = OperationSample(nsPerOp: nil, cpuPerOp_ns: 2, wakeupsPerSecond: 3, greedyWakeupsPerSecond: 4)
        #expect(wakeups.compared == 3)
    }

    @Test("fail rather than take more than ten seconds to arm their timers")
    func stopsInTime() {
        let error = #expect(throws: BenchError.self) {
            try armPending(1_000_000_000, within: .milliseconds(1)) { _ in }
        }
        #expect(error?.description.contains("1,000,000,000 timers") == true)
        #expect(throws: Never.self) { try armPending(10) { _ in } }
    }

    @Test("are compared within rounds, so that a slow round does not change the ratio")
    func comparesWithinRounds() {
        let base = result(times: [10, 1000, 10])
        let rival = result(times: [20, 2000, 20])
        #expect(rival.ratio(to: base) == 2)
        #expect(rival.middle(\.nsPerOp) == 20)
        #expect(result(times: []).ratio(to: base) == nil)
        // Rounds that only one of the two has do not count.
        #expect(result(times: [30]).ratio(to: base) == 3)
    }

    @Test("have a median for odd and even numbers of rounds")
    func medians() {
        #expect(median([]) == nil)
        #expect(median([3]) == 3)
        #expect(median([9, 1, 2]) == 2)
        #expect(median([4, 1, 3, 2]) == 2.5)
    }

    @Test("measure each rival once in each round")
    func interleaves() throws {
        let session = OperationSession([comparison(timers: 7)], rounds: 5, seed: 1, cpu: nil)
        try session.run(Progress(.hidden))
        let results = session.results[0]
        #expect(results.map { $0.samples.keys.sorted() } == [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4], []])
        // Both rivals get the same seed, another one in each round.
        #expect(
            results[0].samples.values.compactMap(\.nsPerOp).sorted()
                == results[1].samples.values.compactMap(\.nsPerOp).sorted()
        )
        #expect(Set(results[0].samples.values.compactMap(\.nsPerOp)).count == 5)
        #expect(results[2].skippedBecause == "not here")
    }

    @Test("are reported as JSON of schema 1, and as a table")
    func reports() throws {
        let session = OperationSession([comparison(timers: 7)], rounds: 2, seed: 1, cpu: nil)
        try session.run(Progress(.hidden))
        let report = OperationReport(session: session, host: .now(), command: ["bench", "ops"])
        let root = try #require(try JSONSerialization.jsonObject(with: Data(report.json.text().utf8)) as? [String: Any])
        #expect(root["schema"] as? Int == 1)
        #expect((root["results"] as? [Any])?.isEmpty == true)
        let operations = try #require(root["operations"] as? [[String: Any]])
        #expect(operations.map { $0["id"] as? String } == ["a", "b", "c"])
        #expect(operations[0]["operation"] as? String == "test")
        #expect(operations[0]["timers"] as? Int == 7)
        #expect(operations[0]["ns_per_op"] is NSNumber)
        #expect(operations[0]["instructions_per_op"] is NSNull)
        #expect(operations[0]["bytes_per_timer"] as? Double == 32)
        #expect(operations[2]["ns_per_op"] is NSNull)
        #expect(operations[2]["skipped_because"] as? String == "not here")

        let text = report.text(Paint())
        #expect(text.contains("test, 7 timers"))
        #expect(text.contains("not measured: not here"))
        #expect(!text.contains("\u{1b}"))
    }

    private func comparison(timers: Int) -> OperationComparison {
        @Sendable func sample(_ seed: UInt64) -> OperationSample {
            OperationSample(nsPerOp: Double(seed >> 32), bytesPerTimer: 32)
        }
        return OperationComparison(
            operation: "test",
            explanation: "nothing",
            timers: timers,
            baseID: "a",
            isPinned: true,
            rivals: [
                OperationRival(id: "a", measure: sample),
                OperationRival(id: "b", measure: sample),
                OperationRival(id: "c") { _ in throw BenchError("not here") },
            ]
        )
    }

    private func result(times: [Double]) -> OperationResult {
        let comparison = comparison(timers: 7)
        let result = OperationResult(comparison, comparison.rivals[0])
        for (round, time) in times.enumerated() { result.samples[round] = OperationSample(nsPerOp: time) }
        return result
    }
}

@Suite("The command line of ops")
struct OpsOptionsTests {
    @Test("without arguments selects the common operations at three sizes")
    func hasDefaults() throws {
        let options = try OpsOptions.parse([])
        #expect(options.preset.rounds >= 5)
        let queues = options.comparisons.filter { $0.baseID == "hrtimer.queue" }
        #expect(Set(queues.map(\.timers)) == [1000, 100_000, 1_000_000])
        #expect(!options.comparisons.contains { $0.isExtra })
        #expect(options.comparisons.contains { $0.operation == "create-arm-cancel-destroy" })
        #expect(try Bench.parseAsRoot(["ops", "--preset", "smoke"]) is OpsCommand)
    }

    @Test("keeps the base beside the rivals that were chosen")
    func keepsTheBase() throws {
        let options = try OpsOptions.parse(["--only", "libevent.*", "--operation", "arm-cancel", "--timers", "1000"])
        #expect(options.comparisons.map { $0.rivals.map(\.id) } == [["hrtimer.queue", "libevent.timer"]])
    }

    @Test(
        "refuses an invalid value with one line that names the option, and exit code 64",
        arguments: [
            ["--timers", "0"], ["--timers", "10000001"], ["--timers", "many"], ["--rounds", "0"], ["--seed", "x"],
            ["--only", "no.such"], ["--operation", "no-such"], ["--cpu", "64"], ["--cpu", "fast"],
            ["--preset", "thorough"], ["--format", "yaml"],
        ]
    )
    func refusesBadValues(arguments: [String]) throws {
        let error = #expect(throws: (any Error).self) { try OpsOptions.parse(arguments) }
        let thrown = try #require(error)
        #expect(OpsOptions.exitCode(for: thrown).rawValue == 64)
        let message = OpsOptions.message(for: thrown)
        #expect(message.contains(arguments[0]))
        #expect(!message.contains("\n"))
    }
}
