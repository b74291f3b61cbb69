// SPDX-License-Identifier: Apache-2.0
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
        #expect(doctor.report(tellsAll: false).text(Paint()).contains("fix: mend it  (as root)"))
        #expect(!doctor.report(tellsAll: false).text(Paint()).contains("\u{1b}"))
    }

    @Test("judges the clock")
    func clocks() throws {
        let directory = "/sys/devices/system/clocksource/clocksource0/"
        func source(_ name: String) throws -> Finding {
            try find(
                "clock.source",
                in: machine([directory + "current_clocksource": name, directory + "available_clocksource": "tsc hpet"])
            )
        }
        #expect(try source("tsc").verdict == .ok)
        #expect(try source("hpet").verdict == .warn)
        #expect(try source("hpet").value == "hpet (of tsc hpet)")
        #expect(try find("clock.resolution") { $0.resolution_ns = 1 }.verdict == .ok)
        #expect(try find("clock.resolution") { $0.resolution_ns = 4_000_000 }.verdict == .bad)
        #expect(try find("clock.tick") { $0.tick_ns = 4_000_000 }.value == "4.00 ms, HZ=250")
        #expect(
            try find("clock.counter", in: machine(["/proc/cpuinfo": "flags\t\t: fpu constant_tsc"])).value
                == "without nonstop_tsc"
        )
        #expect(try find("clock.counter", in: machine([:])).verdict == .info)
        #expect(
            try find("clock.namespace", in: machine(["/proc/self/timens_offsets": "monotonic 5 0\nboottime 0 0"])).value
                == "clocks are shifted"
        )
    }

    @Test(
        "judges containers",
        arguments: [
            ("container.quota", "/sys/fs/cgroup/cpu.max", "max 100000", .ok),
            ("container.quota", "/sys/fs/cgroup/cpu.max", "50000 100000", .warn),
            ("container.quota", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1", .ok),
            ("container.quota", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "20000", .warn),
            ("container.throttled", "/sys/fs/cgroup/cpu.stat", "nr_periods 9\nnr_throttled 3", .warn),
        ] as [(String, String, String, Finding.Verdict)]
    )
    func containers(id: String, path: String, text: String, verdict: Finding.Verdict) throws {
        let finding = try find(id, in: machine([path: text]))
        #expect(finding.verdict == verdict)
        if id == "container.throttled" { #expect(finding.value == "3 times") }
    }

    @Test("judges load")
    func load() throws {
        func average(_ text: String) throws -> Finding {
            var machine = machine(["/proc/loadavg": text])
            machine.online = 2
            return try find("load.average", in: machine)
        }
        #expect(try average("1.50 0.9 0.8 2/300 1").verdict == .warn)
        #expect(try average("0.50 0.9 0.8 2/300 1").verdict == .ok)
        let text = "some avg10=61.20 avg60=1.0 total=4\nfull avg10=0"
        let pressure = try find("load.pressure", in: machine(["/proc/pressure/cpu": text]))
        #expect(pressure.verdict == .warn)
        #expect(pressure.value.contains("61.2 %"))
        #expect(try find("load.pressure", in: machine([:])).verdict == .info)
    }

    @Test("finds other real-time processes, but reports no kernel threads")
    func realTimeTasks() throws {
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
        let finding = try find(
            "load.real-time-tasks",
            in: machine(texts, directories: ["/proc": ["7", "8", "9", "self"]])
        )
        #expect(finding.value == "audio (x)")
    }

    @Test("judges its own measurements")
    func measures() throws {
        func sleep(_ sleeps_ns: [Int64]) throws -> Finding.Verdict {
            try find("measured.sleep") { machine in
                machine.slack_ns = 50_000
                machine.measured.sleeps_ns = sleeps_ns
            }
            .verdict
        }
        #expect(try sleep([60_000, 70_000, 900_000]) == .ok)
        #expect(try sleep([260_000, 270_000, 900_000]) == .warn)
        #expect(try sleep([-1, 70_000]) == .bad)
        #expect(try sleep([]) == .bad)
        #expect(try find("measured.longest-gap") { $0.measured.longestGap_ns = 5_000_000 }.verdict == .warn)
        #expect(try find("measured.clock-reading") { $0.measured.reading_ns = 25 }.verdict == .ok)
        #expect(try find("measured.clock-reading") { $0.measured.reading_ns = 700 }.verdict == .warn)
        #expect(try find("measured.steal") { $0.measured.steal_ns = 10_000_000 }.verdict == .warn)
    }

    @Test("judges rights and builds")
    func rights() throws {
        #expect(try find("rights.timer-slack") { $0.slack_ns = 50_000 }.verdict == .info)
        #expect(try find("rights.timer-slack") { $0.slack_ns = 100_000 }.verdict == .warn)
        #expect(try find("rights.timer-slack") { $0.slack_ns = 1 }.verdict == .ok)
        let slice = try find("kernel.time-slice") { $0.slice_ns = 2_800_000 }
        #expect(slice.value == "each thread's own, by default 2.80 ms")
        #expect(try find("kernel.time-slice") { $0.slice_ns = 0 }.verdict == .info)
        #expect(try find("rights.nice") { $0.nice = 5 }.verdict == .warn)
        #expect(try find("rights.real-time") { $0.fifoError = EPERM }.verdict == .info)
        #expect(try find("build.configuration") { $0.build = "debug" }.verdict == .warn)
        #expect(try find("build.sanitizer") { $0.sanitizer = "thread" }.verdict == .bad)
        #expect(try find("build.libevent") { $0.libeventMethod = "poll" }.verdict == .bad)
        #expect(try find("kernel.timerfd") { $0.timerfdStatus = -ENOSYS }.verdict == .bad)
        #expect(try find("kernel.epoll-pwait2") { $0.epollStatus = -ENOSYS }.verdict == .info)
        let idle = "/sys/devices/system/cpu/cpu0/cpuidle/"
        let sleepy = machine([idle + "state1/latency": "133"], directories: [idle: ["state0", "state1"]])
        #expect(try find("idle.deepest-state", in: sleepy).verdict == .warn)
        let swap = machine(["/proc/meminfo": "SwapTotal: 2048 kB\nSwapFree: 1024 kB"])
        #expect(try find("memory.swap", in: swap).value == "1 MiB in use")
    }

    /// Returns what a check finds on a machine without files, after a change.
    private func find(_ id: String, _ change: (inout Machine) -> Void) throws -> Finding {
        var machine = machine([:])
        change(&machine)
        return try find(id, in: machine)
    }

    private func find(_ id: String, in machine: Machine) throws -> Finding {
        try #require(Check.all.first { $0.id == id }).finding(machine)
    }

    private func machine(_ texts: [String: String], directories: [String: [String]] = [:]) -> Machine {
        Machine(read: { texts[$0] }, list: { directories[$0] ?? [] })
    }
}
