import CHRTimer
import Glibc
import Testing

@testable import bench

@Suite("Settings of a run", .serialized, .timeLimit(.minutes(1)))
struct TuningTests {
    @Test("reach measuring threads and no others")
    func reachesMeasuringThreads() throws {
        let slackBefore_ns = hrt_thread_timer_slack_ns()
        let cpu: UInt64 = hrt_thread_affinity() & ~(hrt_thread_affinity() - 1)
        let (slack_ns, cpus, grants) = try onFreshThread {
            let grants = Tuning(isTuned: true, cpus: cpu).applyToThread()
            return (hrt_thread_timer_slack_ns(), hrt_thread_affinity(), grants)
        }
        #expect(cpus == cpu)
        // Newer kernels give real-time threads no slack at all.
        if grants.contains(Tuning.Grant(name: "timer slack 1 ns", error: 0)) { #expect(slack_ns <= 1) }
        #expect(grants.map(\.name) == ["affinity", "timer slack 1 ns", "SCHED_FIFO"])
        #expect(hrt_thread_timer_slack_ns() == slackBefore_ns)
    }

    @Test("are told as granted or refused")
    func tellsRefusals() {
        #expect(Tuning.Grant(name: "a", error: 0).text == "a: granted")
        #expect(Tuning.Grant(name: "a", error: EPERM).text.hasPrefix("a: refused, "))
    }

    @Test("leave an ordinary run alone")
    func leavesOrdinaryRunsAlone() throws {
        #expect(try TunedProcess(Tuning()).grants.isEmpty)
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
}
