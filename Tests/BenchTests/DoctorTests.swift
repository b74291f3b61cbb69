import Foundation
import Glibc
import Testing

@testable import bench

@Suite("The doctor", .timeLimit(.minutes(15)))
struct DoctorTests {
    @Test("makes at least thirty checks here, each complete and with a unique id")
    func isComplete() throws {
        let doctor = Doctor.examine()
        #expect(doctor.findings.count >= 30)
        #expect(Set(doctor.findings.map(\.id)).count == doctor.findings.count)
        for finding in doctor.findings {
            #expect(!finding.value.isEmpty && !finding.why.isEmpty, "\(finding.id)")
            #expect(!finding.value.contains("\n"), "\(finding.id): \(finding.value)")
            // Each finding that warns or blocks has a fix, and no other has one.
            #expect((finding.fix != nil) == (finding.verdict == .warn || finding.verdict == .bad), "\(finding.id)")
        }
    }

    @Test("changes nothing")
    func changesNothing() throws {
        let files = ["/proc/sys/kernel/timer_migration", "/proc/sys/kernel/sched_rt_runtime_us"]
        let before = files.map(readText)
        let policy = sched_getscheduler(0), priority = getpriority(__priority_which_t(0), 0)
        _ = Doctor.examine()
        #expect(files.map(readText) == before)
        #expect(sched_getscheduler(0) == policy)
        #expect(getpriority(__priority_which_t(0), 0) == priority)
    }

    @Test("is blocked by one bad finding, and reports it first")
    func blocks() {
        let warned = Finding("a.warned", "high", .warn, why: "It is.", fix: "lower it")
        let bad = Finding("b.bad", "broken", .bad, why: "It is.", fix: "mend it", needsRoot: true)
        #expect(!Doctor(findings: [warned]).isBlocked)
        let doctor = Doctor(findings: [warned, bad])
        #expect(doctor.isBlocked)
        #expect(doctor.summary == "2 checks, b.bad: broken, and 1 more (bench doctor tells all)")
        #expect(doctor.text(tellsAll: false, Paint()).contains("fix: mend it  (as root)"))
        #expect(!doctor.text(tellsAll: false, Paint()).contains("\u{1b}"))
    }

    @Test("judges the clock")
    func clocks() {
        let directory = "/sys/devices/system/clocksource/clocksource0/"
        func source(_ name: String) -> Finding {
            ClockChecks.source(
                files([directory + "current_clocksource": name, directory + "available_clocksource": "tsc hpet"])
            )
        }
        #expect(source("tsc").verdict == .ok)
        #expect(source("hpet").verdict == .warn)
        #expect(source("hpet").value == "hpet (of tsc hpet)")
        #expect(ClockChecks.resolution(1).verdict == .ok)
        #expect(ClockChecks.resolution(4_000_000).verdict == .bad)
        #expect(ClockChecks.tick(4_000_000).value == "4.00 ms, HZ=250")
        #expect(
            ClockChecks.flags(files(["/proc/cpuinfo": "flags\t\t: fpu constant_tsc"])).value == "without nonstop_tsc"
        )
        #expect(ClockChecks.flags(files([:])).verdict == .info)
        #expect(
            ClockChecks.offsets(files(["/proc/self/timens_offsets": "monotonic 5 0\nboottime 0 0"])).value
                == "clocks are shifted"
        )
    }

    @Test("judges containers and load")
    func containers() {
        #expect(ContainerChecks.quota(files(["/sys/fs/cgroup/cpu.max": "max 100000"])).verdict == .ok)
        #expect(ContainerChecks.quota(files(["/sys/fs/cgroup/cpu.max": "50000 100000"])).verdict == .warn)
        #expect(ContainerChecks.quota(files(["/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1"])).verdict == .ok)
        #expect(ContainerChecks.quota(files(["/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "20000"])).verdict == .warn)
        #expect(
            ContainerChecks.throttled(files(["/sys/fs/cgroup/cpu.stat": "nr_periods 9\nnr_throttled 3"])).value
                == "3 times"
        )
        #expect(LoadChecks.average(files(["/proc/loadavg": "1.50 0.9 0.8 2/300 1"]), cores: 2).verdict == .warn)
        #expect(LoadChecks.average(files(["/proc/loadavg": "0.50 0.9 0.8 2/300 1"]), cores: 2).verdict == .ok)
        let pressure = LoadChecks.pressure(
            files(["/proc/pressure/cpu": "some avg10=61.20 avg60=1.0 total=4\nfull avg10=0"])
        )
        #expect(pressure.verdict == .warn)
        #expect(pressure.value.contains("61.2 %"))
        #expect(LoadChecks.pressure(files([:])).verdict == .info)
    }

    @Test("finds other real-time processes, but reports no kernel threads")
    func realTimeTasks() {
        func stat(_ name: String, policy: Int, memory: Int) -> String {
            // proc_pid_stat(5): field 23 is the virtual memory size, field 41 the policy.
            var fields = [String](repeating: "0", count: 50)
            fields[23 - 3] = "\(memory)"
            fields[41 - 3] = "\(policy)"
            return "7 (\(name)) " + fields.joined(separator: " ")
        }
        let texts = [
            "/proc/7/stat": stat("audio (x)", policy: 1, memory: 4096),
            "/proc/8/stat": stat("migration/0", policy: 1, memory: 0),
            "/proc/9/stat": stat("shell", policy: 0, memory: 4096),
        ]
        let finding = LoadChecks.realTimeTasks(files(texts, directories: ["/proc": ["7", "8", "9", "self"]]))
        #expect(finding.value == "audio (x)")
    }

    @Test("judges its own measurements")
    func measures() {
        #expect(MeasuredChecks.sleep([60_000, 70_000, 900_000], slack_ns: 50_000).verdict == .ok)
        #expect(MeasuredChecks.sleep([260_000, 270_000, 900_000], slack_ns: 50_000).verdict == .warn)
        #expect(MeasuredChecks.sleep([-1, 70_000], slack_ns: 50_000).verdict == .bad)
        #expect(MeasuredChecks.sleep([], slack_ns: 50_000).verdict == .bad)
        #expect(MeasuredChecks.gap(5_000_000).verdict == .warn)
        #expect(MeasuredChecks.reading(25).verdict == .ok)
        #expect(MeasuredChecks.reading(700).verdict == .warn)
        #expect(MeasuredChecks.steal(Disturbance(steal_ns: 10_000_000)).verdict == .warn)
    }

    @Test("judges rights and builds")
    func rights() {
        #expect(RightsChecks.slack(50_000).verdict == .info)
        #expect(RightsChecks.slack(100_000).verdict == .warn)
        #expect(RightsChecks.slack(1).verdict == .ok)
        #expect(RightsChecks.nice(5).verdict == .warn)
        #expect(RightsChecks.realTime(EPERM).verdict == .info)
        #expect(BuildChecks.configuration("debug").verdict == .warn)
        #expect(BuildChecks.sanitizer("thread").verdict == .bad)
        #expect(BuildChecks.libevent("2.1.12", "poll").verdict == .bad)
        #expect(KernelChecks.timerfd(-ENOSYS).verdict == .bad)
        #expect(KernelChecks.epoll(-ENOSYS).verdict == .info)
        #expect(
            IdleChecks.deepest(
                files(
                    ["/sys/devices/system/cpu/cpu0/cpuidle/state1/latency": "133"],
                    directories: ["/sys/devices/system/cpu/cpu0/cpuidle/": ["state0", "state1"]]
                )
            ).verdict == .warn
        )
        #expect(
            MemoryChecks.swap(files(["/proc/meminfo": "SwapTotal: 2048 kB\nSwapFree: 1024 kB"])).value == "1 MiB in use"
        )
    }

    private func files(_ texts: [String: String], directories: [String: [String]] = [:]) -> SystemFiles {
        SystemFiles(read: { texts[$0] }, list: { directories[$0] ?? [] })
    }
}
