// SPDX-License-Identifier: Apache-2.0
import CBench
import Foundation
import Testing

@testable import bench

@Suite("Settings of a run", .serialized, .timeLimit(.minutes(15)))
struct TuningTests {
    @Test("reach all threads, those of pools too, and what they start: real-time class and processors")
    func reachesPools() throws {
        // In a process of its own, since this one's threads belong to other tests.
        let bench = try benchPath()
        let cpu = "\(cbench_affinity().trailingZeroBitCount)"
        let result = try run(
            bench,
            [
                "run", "--preset", "smoke", "--tune", "--cpu", cpu, "--blocks", "1", "--format", "json",
                "--no-progress", "--only", "dispatch.source", "--only", "swift.task-sleep", "--only",
                "hrtimer.clock-sleep.normal",
            ]
        )
        let members = try #require(try JSONSerialization.jsonObject(with: result) as? [String: Any])
        let grants = try #require(members["grants"] as? [[String: Any]])
        #expect(grants.map { $0["name"] as? String } == ["affinity", "timer slack 1 ns", "SCHED_FIFO", "mlockall"])
        let rows = try #require(members["results"] as? [[String: Any]])
        for row in rows {
            #expect((row["processors"] as? [String: Int])?.keys.map(\.self) == [cpu])
            #expect(row["migrations"] as? Int == 0)
            let isRealtime = grants.first { $0["name"] as? String == "SCHED_FIFO" }?["is_granted"] as? Bool == true
            if isRealtime { #expect(row["threads_without_realtime"] as? Int == 0) }
        }
    }

    private func run(_ program: String, _ arguments: [String]) throws -> Data {
        let child = Process()
        child.executableURL = URL(fileURLWithPath: program)
        child.arguments = arguments
        let output = Pipe()
        child.standardOutput = output
        child.standardError = FileHandle.nullDevice
        try child.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        child.waitUntilExit()
        #expect(child.terminationStatus == 0)
        return data
    }

    @Test("are reported as granted or refused")
    func tellsRefusals() {
        #expect(Tuning.Grant(name: "a", error: 0).text == "a: granted")
        #expect(Tuning.Grant(name: "a", error: EPERM).text.hasPrefix("a: refused, "))
    }

    @Test("are not changed for an ordinary run")
    func leavesOrdinaryRunsAlone() throws {
        #expect(try TunedProcess(Tuning()).settingResults.isEmpty)
    }

    @Test("end the load with the run")
    func endsLoad() throws {
        let load = try Load(.cpu)
        let processes = load.processes
        #expect(!processes.isEmpty)
        load.stop()
        #expect(load.processes.isEmpty)
        for process in processes { #expect(kill(process, 0) == -1) }
    }

    @Test("run a command as load, in a process group that ends with it")
    func runsCommands() throws {
        let load = try Load(.command("sleep 600 & sleep 600"))
        let process = try #require(load.processes.first)
        #expect(getpgid(process) == process)
        #expect(!load.hasEnded())
        load.stop()
        // The shell has been waited for. Its child, which is not ours to wait for, was killed with the group.
        #expect(kill(process, 0) == -1)
    }

    @Test("notice a load that ends by itself")
    func noticesTheEnd() throws {
        let load = try Load(.command("exit 3"))
        while !load.hasEnded() { usleep(1000) }
        #expect(load.processes.isEmpty)
    }

    @Test("report that a program for load cannot be started")
    func saysWhatCannotBeStarted() {
        var process: Int32 = 0
        let path = strdup("/no/such/program")
        defer { free(path) }
        var arguments: [UnsafePointer<CChar>?] = [UnsafePointer(path), nil]
        #expect(cbench_load_execute(&arguments, &process) == -ENOENT)
    }

    @Test("parse each load from its own text")
    func readsLoads() throws {
        for load in [LoadKind.none, .cpu, .timers(7), .command("a b")] { #expect(try parseLoad(load.text) == load) }
        for text in ["", "timers:", "timers:x", "timers:1000001", "cmd:", "CPU"] {
            #expect(throws: (any Error).self) { try parseLoad(text) }
        }
    }
}
