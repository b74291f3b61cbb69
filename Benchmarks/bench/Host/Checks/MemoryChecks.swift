// SPDX-License-Identifier: Apache-2.0
import Glibc

// What may take a page, the processor's time or a thread's turn away: memory, control groups, load and interruptions.
extension Check {
    static let memory: [Check] = [
        Check(
            "memory.locking",
            why: "mlockall(2) keeps every page in memory: a page fault at a deadline costs from 1 µs to milliseconds."
        ) { _ in
            guard let limit = Machine.limit(of: Int32(__RLIMIT_MEMLOCK.rawValue)) else {
                return Judgement("unlimited", .ok)
            }
            let isRoot = geteuid() == 0
            return Judgement("\(limit >> 10) KiB\(isRoot ? ", which root may pass" : "")", isRoot ? .ok : .info)
        },
        Check(
            "memory.swap",
            why: "A page that was swapped out comes back in milliseconds, in the middle of a fire.",
            rootFix: "swapoff -a, or lock memory (--tune)"
        ) { machine in
            func kilobytes(_ name: String) -> Int64? {
                machine.field(name, of: "/proc/meminfo").flatMap {
                    $0.split(separator: " ").first.flatMap { Int64($0) }
                }
            }
            guard let total = kilobytes("SwapTotal") else { return Judgement(nil, .ok) }
            if total == 0 { return Judgement("none", .ok) }
            let used = kilobytes("SwapFree").map { total - $0 }
            return Judgement(used.map { "\($0 >> 10) MiB in use" }, (used ?? 0) > 0 ? .warn : .ok)
        },
        Check(
            "memory.huge-pages",
            why: "With \"always\" the kernel stops threads at times to put pages together; large queues gain from it."
        ) { Judgement($0.chosen("/sys/kernel/mm/transparent_hugepage/enabled") ?? "not told", .info) },
        Check(
            "memory.numa",
            why: "Balancing unmaps pages to see who uses them, which shows as faults of microseconds at random.",
            rootFix: "sysctl kernel.numa_balancing=0, or numactl --membind"
        ) { machine in
            let isOn = (machine.read("/proc/sys/kernel/numa_balancing") ?? "0") != "0"
            let nodes = machine.list("/sys/devices/system/node").count { $0.hasPrefix("node") }
            let text = "\(max(1, nodes)) nodes, balancing \(isOn ? "on" : "off")"
            return Judgement(text, isOn && nodes > 1 ? .warn : .ok)
        },
    ]

    static let container: [Check] = [
        Check(
            "container.groups",
            why: "Each version tells of throttling elsewhere; blocks that it disturbed are found by version 2 only."
        ) { machine in
            if machine.read("/sys/fs/cgroup/cgroup.controllers") != nil { return Judgement("version 2", .info) }
            return Judgement(machine.list("/sys/fs/cgroup").isEmpty ? "none" : "version 1", .info)
        },
        Check(
            "container.quota",
            why: "A group that has used up its quota stands still until the next period, up to 100 ms later.",
            fix: "run without a quota (docker run without --cpus; no CPU limit in Kubernetes)"
        ) { machine in
            let directory = "/sys/fs/cgroup/cpu"
            if let limit = machine.read("\(directory).max") {
                return limit.hasPrefix("max") ? Judgement("none", .ok) : Judgement("\(limit) µs", .warn)
            }
            guard let quota_us = machine.number("\(directory)/cpu.cfs_quota_us"), quota_us > 0 else {
                return Judgement("none", .ok)
            }
            return Judgement("\(quota_us) of \(machine.read("\(directory)/cpu.cfs_period_us") ?? "?") µs", .warn)
        },
        Check(
            "container.throttled",
            why: "How often this group was stopped by its quota so far: each of them is a latency of milliseconds.",
            fix: "raise the quota"
        ) { machine in
            let files = ["/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"]
            let times = files.lazy.compactMap { machine.field("nr_throttled", of: $0) }.first.flatMap { Int($0) }
            return Judgement(times.map { "\($0.grouped) times" } ?? "not told", (times ?? 0) > 0 ? .warn : .ok)
        },
        Check(
            "container.filter",
            why: "A seccomp filter runs at every system call, and may refuse newer ones (epoll_pwait2, io_uring)."
        ) { machine in
            let mode = machine.field("Seccomp", of: "/proc/self/status")
            return Judgement(mode.map { "\($0 == "0" ? "no " : "")system calls are filtered" }, .info)
        },
    ]

    static let load: [Check] = [
        Check(
            "load.average",
            why: "An ordinary thread that wakes has to wait for its turn behind whatever runs.",
            fix: "end what else runs, or say --load cpu to measure under a load that is known"
        ) { machine in
            let minute = machine.read("/proc/loadavg")?.split(separator: " ").first.flatMap { Double($0) }
            let text = minute.map { "\($0.formatted(decimals: 2)) on \(machine.online) processors" }
            return Judgement(text, (minute ?? 0) > Double(machine.online) / 2 ? .warn : .ok)
        },
        Check("load.running", why: "Who competes at this moment, this program included.") { machine in
            let running = machine.field("procs_running", of: "/proc/stat").flatMap { Int($0) }
            return Judgement(running.map { "\($0) threads want a processor" }, (running ?? 1) > 2 ? .info : .ok)
        },
        // The share of the last ten seconds in which some thread waited: Documentation/accounting/psi.rst.
        Check(
            "load.pressure",
            why: "Time in which a woken thread had no processor is lateness that no timer can avoid.",
            fix: "end what else runs; top shows it"
        ) { machine in
            let line = machine.field("some", of: "/proc/pressure/cpu")
            let share = line?.split(separator: " ").first.flatMap { Double($0.dropFirst("avg10=".count)) }
            guard let share else { return Judgement("not told", .info) }
            let text = "threads waited for a processor in \(share.formatted(decimals: 1)) % of 10 s"
            return Judgement(text, share > 5 ? .warn : .ok)
        },
        Check(
            "load.real-time-tasks",
            why: "Other real-time processes run before every ordinary thread, also before its deadline.",
            fix: "end them, or keep them on another processor"
        ) { machine in
            let names = machine.list("/proc").filter { $0.allSatisfy(\.isNumber) }.compactMap { process in
                machine.read("/proc/\(process)/stat").flatMap(realTimeName)
            }
            if names.isEmpty { return Judgement("none", .ok) }
            return Judgement(names.prefix(5).joined(separator: ", "), .warn)
        },
    ]

    /// Returns the name of a real-time process from its /proc/PID/stat, proc_pid_stat(5): field 41 is the policy. Kernel
    /// threads have no memory of their own, field 23.
    private static func realTimeName(_ text: String) -> String? {
        guard let open = text.firstIndex(of: "("), let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 38, ["1", "2", "6"].contains(fields[38]), fields[20] != "0" else { return nil }
        return String(text[text.index(after: open)..<end])
    }

    static let noise: [Check] = [
        Check(
            "noise.watchdog",
            why: "The watchdog interrupts each processor every few seconds, for some microseconds."
        ) { Judgement($0.read("/proc/sys/kernel/nmi_watchdog").map { $0 == "0" ? "off" : "on" } ?? "none", .info) },
        Check(
            "noise.irqbalance",
            why: "It moves interrupts between processors, also to the one that measures; fixed affinities are quieter."
        ) { machine in
            let isRunning = machine.list("/proc").contains { process in
                process.allSatisfy(\.isNumber) && machine.read("/proc/\(process)/comm") == "irqbalance"
            }
            return Judgement(isRunning ? "runs" : "does not run", .info)
        },
        Check(
            "noise.heat",
            why:
                "A processor that is too hot slows down without telling: later blocks are then slower than earlier ones.",
            fix: "cool it, or lower the highest frequency"
        ) { machine in
            let times = machine.number("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count")
            let text = times.map { "throttled \($0) times since boot" }
            return Judgement(text ?? "not told", (times ?? 0) > 0 ? .warn : .info)
        },
    ]
}
