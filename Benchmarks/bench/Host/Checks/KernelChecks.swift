import CBench
import Glibc

/// Checks of the kernel, and of which of its calls work here.
enum KernelChecks {
    static func findings(_ files: SystemFiles) -> [Finding] {
        [
            realTime(files), preemption(files), highResolution(files), timerfd(cbench_probe_timerfd()),
            epoll(cbench_probe_epoll_pwait2()), ioUring(cbench_probe_io_uring(), files),
            futex(cbench_probe_futex_waitv()),
            clocks(cbench_probe_clock(CLOCK_TAI), cbench_probe_clock(CLOCK_BOOTTIME)),
            userWait(files), counters(cbench_probe_perf_events(), files), tracer(files), mitigations(files),
        ]
    }

    static func realTime(_ files: SystemFiles) -> Finding {
        let isRealTime = files.read("/sys/kernel/realtime") == "1"
        return Finding(
            "kernel.real-time",
            isRealTime ? "PREEMPT_RT" : "not PREEMPT_RT",
            isRealTime ? .ok : .info,
            why: "Only PREEMPT_RT bounds how long the kernel itself may keep a real-time thread from running."
        )
    }

    static func preemption(_ files: SystemFiles) -> Finding {
        let mode = files.chosen("/sys/kernel/debug/sched/preempt").map { "(\($0))" }
        let build = files.read("/proc/version") ?? ""
        let isDynamic = build.contains("PREEMPT")
        return Finding(
            "kernel.preemption",
            [isDynamic ? "PREEMPT" : "not told", mode].compactMap(\.self).joined(separator: " "),
            mode == "(none)" || mode == "(voluntary)" ? .warn : .info,
            why: "Without preemption a thread that wakes waits until a running system call of another is done.",
            fix: "boot with preempt=full",
            needsRoot: true
        )
    }

    static func highResolution(_ files: SystemFiles) -> Finding {
        let release = files.read("/proc/sys/kernel/osrelease") ?? ""
        let configured = files.field("CONFIG_HIGH_RES_TIMERS", of: "/boot/config-\(release)")
        return Finding(
            "kernel.high-resolution",
            configured ?? "the kernel's configuration is not told; see clock.resolution",
            configured == "n" ? .bad : configured == "y" ? .ok : .info,
            why: "CONFIG_HIGH_RES_TIMERS is what lets a wait end between two ticks.",
            fix: "boot a kernel that has it"
        )
    }

    static func timerfd(_ status: CInt) -> Finding {
        Finding(
            "kernel.timerfd",
            text(status),
            status == 0 ? .ok : .bad,
            why: "timerfd takes absolute deadlines in ns and knows no slack; event loops stand on it, ours too.",
            fix: "let the seccomp filter pass timerfd_create"
        )
    }

    static func epoll(_ status: CInt) -> Finding {
        Finding(
            "kernel.epoll-pwait2",
            text(status),
            status == 0 ? .ok : .info,
            why: "The epoll wait with a timeout in ns (Linux 5.11); epoll_wait has whole milliseconds."
        )
    }

    static func ioUring(_ status: CInt, _ files: SystemFiles) -> Finding {
        let setting = files.read("/proc/sys/kernel/io_uring_disabled").map { ", io_uring_disabled \($0)" } ?? ""
        return Finding(
            "kernel.io-uring",
            text(status) + setting,
            status == 0 ? .ok : .info,
            why: "Its timeouts are subjects here; many containers refuse it."
        )
    }

    static func futex(_ status: CInt) -> Finding {
        Finding(
            "kernel.futex-waitv",
            text(status),
            status == 0 ? .ok : .info,
            why: "Waits for several words at once until an absolute instant (Linux 5.16)."
        )
    }

    static func clocks(_ tai: CInt, _ boot: CInt) -> Finding {
        Finding(
            "kernel.clocks",
            "CLOCK_TAI \(text(tai)), CLOCK_BOOTTIME \(text(boot))",
            tai == 0 && boot == 0 ? .ok : .warn,
            why: "Timers that go on through suspend need CLOCK_BOOTTIME, those on atomic time CLOCK_TAI.",
            fix: "use a kernel from 3.10 on"
        )
    }

    static func userWait(_ files: SystemFiles) -> Finding {
        let flags = files.field("flags", of: "/proc/cpuinfo")?.split(separator: " ") ?? []
        let kinds = ["waitpkg", "mwaitx"].filter { flags.contains(Substring($0)) }
        let limit = files.read("/sys/devices/system/cpu/umwait_control/max_time").map { ", at most \($0) counts" } ?? ""
        return Finding(
            "kernel.user-wait",
            kinds.isEmpty ? "none" : kinds.joined(separator: ", ") + limit,
            kinds.isEmpty ? .info : .ok,
            why: "TPAUSE and MWAITX wait for an instant in user space with less power than a spin."
        )
    }

    static func counters(_ status: CInt, _ files: SystemFiles) -> Finding {
        let paranoia = files.read("/proc/sys/kernel/perf_event_paranoid") ?? "?"
        return Finding(
            "kernel.counters",
            "hardware counters \(text(status)), perf_event_paranoid \(paranoia)",
            status == 0 ? .ok : .info,
            why: "Instructions for each fire repeat where microseconds do not."
        )
    }

    static func tracer(_ files: SystemFiles) -> Finding {
        let tracers = files.first(
            "/sys/kernel/tracing/available_tracers",
            "/sys/kernel/debug/tracing/available_tracers"
        )
        let has = tracers?.split(separator: " ").contains("timerlat") == true
        return Finding(
            "kernel.tracer",
            has ? "timerlat" : tracers == nil ? "not readable" : "without timerlat",
            .info,
            why: "rtla timerlat splits a latency into the interrupt's part and the thread's, and says who caused it."
        )
    }

    static func mitigations(_ files: SystemFiles) -> Finding {
        let directory = "/sys/devices/system/cpu/vulnerabilities"
        let states = files.list(directory).compactMap { files.read("\(directory)/\($0)") }
        let mitigated = states.filter { $0.hasPrefix("Mitigation") }.count
        return Finding(
            "kernel.mitigations",
            states.isEmpty ? "not told" : "\(mitigated) of \(states.count) known flaws mitigated",
            .info,
            why:
                "Mitigations lengthen each system call and switch, by a tenth of a microsecond to one: a fire has several."
        )
    }

    private static func text(_ status: CInt) -> String {
        status == 0 ? "works" : "refused: \(String(cString: strerror(-status)))"
    }
}
