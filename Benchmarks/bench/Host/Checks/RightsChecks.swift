// SPDX-License-Identifier: Apache-2.0
import Glibc

// What this process may request from the scheduler, and its resource limits.
extension Check {
    static let rights: [Check] = [
        Check(
            "rights.timer-slack",
            why:
                "The kernel may end any wait but a timerfd's late by this much; 50 µs is the default of ordinary processes.",
            fix: "it was inherited: start from a shell with the default, or call prctl(PR_SET_TIMERSLACK, 1)"
        ) { machine in
            let slack_ns = machine.slack_ns
            return Judgement(timeText(slack_ns), slack_ns > 50_000 ? .warn : slack_ns == 50_000 ? .info : .ok)
        },
        Check(
            "rights.real-time",
            why: "A real-time thread runs before every ordinary one; --tune and RealTimeSettings ask for it."
        ) { machine in
            if machine.fifoError == 0 { return Judgement("SCHED_FIFO is granted", .ok) }
            return Judgement("SCHED_FIFO is refused: \(String(cString: strerror(machine.fifoError)))", .info)
        },
        Check(
            "rights.real-time-throttling",
            why:
                "A real-time thread that spins longer is stopped for the rest of the period, with every deadline in it.",
            rootFix: "sysctl kernel.sched_rt_runtime_us=950000"
        ) { machine in
            let runtime_us = machine.number("/proc/sys/kernel/sched_rt_runtime_us")
            let period_us = machine.number("/proc/sys/kernel/sched_rt_period_us") ?? 1_000_000
            let text = runtime_us.map { $0 < 0 ? "off" : "\($0 / 1000) ms of \(period_us / 1000) ms" }
            return Judgement(text, runtime_us == 0 ? .warn : .info)
        },
        Check(
            "rights.real-time-group",
            why: "A control group without a real-time budget refuses SCHED_FIFO even to root.",
            rootFix: "write a budget to cpu.rt_runtime_us of the group"
        ) { machine in
            let budget_us = machine.number("/sys/fs/cgroup/cpu/cpu.rt_runtime_us")
            let text = budget_us.map { $0 > 0 ? "\($0) µs" : "none" }
            return Judgement(text ?? "groups have no budgets", budget_us == 0 ? .warn : .info)
        },
        Check(
            "rights.nice",
            why:
                "A nice process waits for others, and its poll timeouts may be 0.5 % late instead of 0.1 % (fs/select.c).",
            fix: "start it without nice"
        ) { Judgement("\($0.nice)", $0.nice > 0 ? .warn : .ok) },
        limit(
            "limits.descriptors",
            of: Int32(RLIMIT_NOFILE.rawValue),
            atLeast: 1024,
            why: "Each timerfd and each libevent loop takes descriptors.",
            fix: "ulimit -n 1024"
        ),
        limit(
            "limits.threads",
            of: Int32(__RLIMIT_NPROC.rawValue),
            atLeast: 256,
            why:
                "Dispatch, the concurrency runtime and timer_create(2) with SIGEV_THREAD start threads as they need them.",
            fix: "ulimit -u 4096"
        ),
        limit(
            "limits.pending-signals",
            of: Int32(__RLIMIT_SIGPENDING.rawValue),
            atLeast: 128,
            why: "Every POSIX timer takes one from timer_create(2) on; without one left there is EAGAIN.",
            fix: "ulimit -i 4096"
        ),
    ]

    private static func limit(
        _ id: String,
        of resource: Int32,
        atLeast least: UInt64,
        why: String,
        fix: String
    ) -> Check {
        Check(id, why: why, fix: fix) { _ in
            guard let limit = Machine.limit(of: resource) else { return Judgement("unlimited", .ok) }
            return Judgement(Int(clamping: limit).grouped, limit < least ? .warn : .ok)
        }
    }
}
