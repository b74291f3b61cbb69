// SPDX-License-Identifier: Apache-2.0
import CBench
import Glibc

// The kernel and which of its calls work here, how this program is built, and what short measurements find.
extension Check {
    private static func text(_ status: CInt) -> String {
        status == 0 ? "works" : "refused: \(String(cString: strerror(-status)))"
    }

    static let kernel: [Check] = [
        Check(
            "kernel.real-time",
            why: "Only PREEMPT_RT bounds how long the kernel itself may keep a real-time thread from running."
        ) { machine in
            let isRealTime = machine.read("/sys/kernel/realtime") == "1"
            return Judgement(isRealTime ? "PREEMPT_RT" : "not PREEMPT_RT", isRealTime ? .ok : .info)
        },
        Check(
            "kernel.preemption",
            why: "Without preemption a thread that wakes waits until a running system call of another is done.",
            rootFix: "boot with preempt=full"
        ) { machine in
            let mode = machine.chosen("/sys/kernel/debug/sched/preempt")
            let isDynamic = machine.read("/proc/version")?.contains("PREEMPT") == true
            let text = (isDynamic ? "PREEMPT" : "not told") + (mode.map { " (\($0))" } ?? "")
            return Judgement(text, mode == "none" || mode == "voluntary" ? .warn : .info)
        },
        Check(
            "kernel.high-resolution",
            why: "CONFIG_HIGH_RES_TIMERS is what lets a wait end between two ticks.",
            fix: "boot a kernel that has it"
        ) { machine in
            let release = machine.read("/proc/sys/kernel/osrelease") ?? ""
            guard let configured = machine.field("CONFIG_HIGH_RES_TIMERS", of: "/boot/config-\(release)") else {
                return Judgement("the kernel's configuration is not told; see clock.resolution", .info)
            }
            return Judgement(configured, configured == "n" ? .bad : configured == "y" ? .ok : .info)
        },
        Check(
            "kernel.timerfd",
            why: "timerfd takes absolute deadlines in ns and knows no slack; event loops stand on it, ours too.",
            fix: "let the seccomp filter pass timerfd_create"
        ) { Judgement(text($0.timerfdStatus), $0.timerfdStatus == 0 ? .ok : .bad) },
        Check(
            "kernel.epoll-pwait2",
            why: "The epoll wait with a timeout in ns (Linux 5.11); epoll_wait has whole milliseconds."
        ) { Judgement(text($0.epollStatus), $0.epollStatus == 0 ? .ok : .info) },
        Check("kernel.io-uring", why: "Its timeouts are subjects here; many containers refuse it.") { machine in
            let status = cbench_probe_io_uring()
            let setting = machine.read("/proc/sys/kernel/io_uring_disabled").map { ", io_uring_disabled \($0)" } ?? ""
            return Judgement(text(status) + setting, status == 0 ? .ok : .info)
        },
        Check(
            "kernel.futex-waitv",
            why: "Waits for several words at once until an absolute instant (Linux 5.16)."
        ) { _ in
            let status = cbench_probe_futex_waitv()
            return Judgement(text(status), status == 0 ? .ok : .info)
        },
        Check(
            "kernel.clocks",
            why: "Timers that go on through suspend need CLOCK_BOOTTIME, those on atomic time CLOCK_TAI.",
            fix: "use a kernel from 3.10 on"
        ) { _ in
            let tai = cbench_probe_clock(CLOCK_TAI), boot = cbench_probe_clock(CLOCK_BOOTTIME)
            let text = "CLOCK_TAI \(text(tai)), CLOCK_BOOTTIME \(text(boot))"
            return Judgement(text, tai == 0 && boot == 0 ? .ok : .warn)
        },
        Check(
            "kernel.user-wait",
            why: "TPAUSE and MWAITX wait for an instant in user space with less power than a spin."
        ) { machine in
            let kinds = ["waitpkg", "mwaitx"].filter { machine.flags?.contains($0) == true }
            if kinds.isEmpty { return Judgement("none", .info) }
            let limit = machine.read("/sys/devices/system/cpu/umwait_control/max_time")
            return Judgement(kinds.joined(separator: ", ") + (limit.map { ", at most \($0) counts" } ?? ""), .ok)
        },
        Check(
            "kernel.time-slice",
            why: "Since Linux 6.12 a thread with a short slice is run sooner on a busy processor; ours ask for 100 µs."
        ) { machine in
            if machine.slice_ns == 0 { return Judgement("one for all threads", .info) }
            return Judgement("each thread's own, by default \(timeText(machine.slice_ns))", .ok)
        },
        Check("kernel.counters", why: "Instructions for each fire repeat where microseconds do not.") { machine in
            let status = cbench_probe_perf_events()
            let paranoia = machine.read("/proc/sys/kernel/perf_event_paranoid") ?? "?"
            let text = "hardware counters \(text(status)), perf_event_paranoid \(paranoia)"
            return Judgement(text, status == 0 ? .ok : .info)
        },
        Check(
            "kernel.tracer",
            why: "rtla timerlat splits a latency into the interrupt's part and the thread's, and says who caused it."
        ) { machine in
            let directories = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
            let tracers = directories.lazy.compactMap { machine.read("\($0)/available_tracers") }.first
            let has = tracers?.split(separator: " ").contains("timerlat") == true
            return Judgement(has ? "timerlat" : tracers == nil ? "not readable" : "without timerlat", .info)
        },
        Check(
            "kernel.mitigations",
            why:
                "Mitigations lengthen each system call and switch, by a tenth of a microsecond to one: a fire has several."
        ) { machine in
            let directory = "/sys/devices/system/cpu/vulnerabilities"
            let states = machine.list(directory).compactMap { machine.read("\(directory)/\($0)") }
            let mitigated = states.count { $0.hasPrefix("Mitigation") }
            return Judgement(
                states.isEmpty ? "not told" : "\(mitigated) of \(states.count) known flaws mitigated",
                .info
            )
        },
    ]

    static let build: [Check] = [
        Check(
            "build.configuration",
            why: "Unoptimized Swift costs microseconds in every handler, and not the same in all subjects.",
            fix: "swift run -c release bench"
        ) { Judgement($0.build, $0.build == "release" ? .ok : .warn) },
        Check(
            "build.sanitizer",
            why: "A sanitizer makes the program several times slower, unevenly.",
            fix: "build without --sanitize"
        ) { machine in
            machine.sanitizer.map { Judgement("\($0) sanitizer", .bad) } ?? Judgement("none", .ok)
        },
        Check(
            "build.libevent",
            why: "Another backend than epoll has coarser timeouts, and cannot watch a timerfd as exactly.",
            fix: "unset EVENT_NOEPOLL, or install a libevent with epoll"
        ) { machine in
            let (version, method) = (String(cString: cbench_libevent_version()), machine.libeventMethod)
            return Judgement("\(version), waits by \(method ?? "nothing")", method == "epoll" ? .ok : .bad)
        },
        Check(
            "build.environment",
            why: "These variables change how libevent waits, of rivals and of ours alike."
        ) { _ in
            let set = ["EVENT_NOEPOLL", "EVENT_PRECISE_TIMER", "EVENT_EPOLL_USE_CHANGELIST", "EVENT_SHOW_METHOD"]
                .filter { environment($0) != nil }
            if set.isEmpty { return Judgement("no EVENT_ variables", .ok) }
            return Judgement(set.joined(separator: ", "), .warn, fix: "unset \(set.joined(separator: " "))")
        },
    ]

    static let measured: [Check] = [
        Check(
            "measured.clock-reading",
            why: "Each stamp costs one reading, and is late by it; above 100 ns it is a system call.",
            fix: "see clock.source"
        ) { machine in
            let cost_ns = machine.measured.reading_ns
            return Judgement(timeText(cost_ns), cost_ns < 100 ? .ok : cost_ns < 2000 ? .warn : .bad)
        },
        Check(
            "measured.sleep",
            why: "The simplest exact wait there is: everything else here is later than this.",
            fix: "more than slack and 100 µs: see load and idle"
        ) { machine in
            let sorted = machine.measured.sleeps_ns.sorted()
            guard let first_ns = sorted.first, let last_ns = sorted.last else {
                return Judgement("no wait of 1 ms came back", .bad, fix: "look at dmesg")
            }
            if first_ns < 0 {
                let fix = "the clock is broken: change the clock source"
                return Judgement("early by \(timeText(-first_ns))", .bad, fix: fix)
            }
            let (middle_ns, slack_ns) = (sorted[sorted.count / 2], machine.slack_ns)
            let text = "median \(timeText(middle_ns)) late, at most \(timeText(last_ns)), slack \(timeText(slack_ns))"
            return Judgement(text, middle_ns > slack_ns + 100_000 ? .warn : .ok)
        },
        Check(
            "measured.longest-gap",
            why: "The floor under every worst case: a thread that never sleeps was away for this long.",
            fix: "end what else runs; in a guest, its host is busy"
        ) { machine in
            let gap_ns = machine.measured.longestGap_ns
            return Judgement("\(timeText(gap_ns)) away in 100 ms of spinning", gap_ns > 1_000_000 ? .warn : .ok)
        },
        Check(
            "measured.steal",
            why: "Time in which the hypervisor ran someone else: a deadline in it is met when it is over.",
            fix: "use a host that is not shared, or dedicated processors"
        ) { machine in
            let steal_ns = machine.measured.steal_ns
            return steal_ns > 0 ? Judgement(timeText(steal_ns), .warn) : Judgement("none", .ok)
        },
    ]
}
