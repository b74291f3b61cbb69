import CBench
import CHRTimer
import Glibc
import Testing

@testable import bench

@Suite("Settings of a run", .serialized, .timeLimit(.minutes(15)))
struct TuningTests {
    @Test("reach measuring threads and no others")
    func reachesMeasuringThreads() throws {
        let slackBefore_ns = hrt_thread_timer_slack_ns()
        let cpu: UInt64 = cbench_affinity() & ~(cbench_affinity() - 1)
        let (slack_ns, cpus, settingResults) = try onFreshThread {
            let settingResults = Tuning(isTuned: true, cpus: cpu).applyToThread()
            return (hrt_thread_timer_slack_ns(), cbench_affinity(), settingResults)
        }
        #expect(cpus == cpu)
        // Newer kernels give real-time threads no slack at all.
        if settingResults.contains(Tuning.Grant(name: "timer slack 1 ns", error: 0)) { #expect(slack_ns <= 1) }
        #expect(settingResults.map(\.name) == ["affinity", "timer slack 1 ns", "SCHED_FIFO"])
        #expect(hrt_thread_timer_slack_ns() == slackBefore_ns)
    }

    @Test("are told as granted or refused")
    func tellsRefusals() {
        #expect(Tuning.Grant(name: "a", error: 0).text == "a: granted")
        #expect(Tuning.Grant(name: "a", error: EPERM).text.hasPrefix("a: refused, "))
    }

    @Test("leave an ordinary run alone")
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
        // The shell was waited for; what it started is not ours to wait for, and was killed with the group.
        #expect(kill(process, 0) == -1)
    }

    @Test("notice a load that ends by itself")
    func noticesTheEnd() throws {
        let load = try Load(.command("exit 3"))
        while !load.hasEnded() { usleep(1000) }
        #expect(load.processes.isEmpty)
    }

    @Test("say that a program for load cannot be started")
    func saysWhatCannotBeStarted() {
        var process: Int32 = 0
        let path = strdup("/no/such/program")
        defer { free(path) }
        var arguments: [UnsafePointer<CChar>?] = [UnsafePointer(path), nil]
        #expect(cbench_load_execute(&arguments, &process) == -ENOENT)
    }

    @Test("read loads as they are written")
    func readsLoads() throws {
        for load in [LoadKind.none, .cpu, .timers(7), .command("a b")] { #expect(try parseLoad(load.text) == load) }
        for text in ["", "timers:", "timers:x", "timers:1000001", "cmd:", "CPU"] {
            #expect(throws: (any Error).self) { try parseLoad(text) }
        }
    }
}
