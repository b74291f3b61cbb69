import CHRTimer
import Glibc

/// Checks of what this process may request from the scheduler, and of its resource limits.
enum RightsChecks {
    static func findings(_ files: SystemFiles) -> [Finding] {
        [
            slack(Int64(clamping: hrt_thread_timer_slack_ns())), realTime(fifoError()), throttling(files),
            groupBudget(files),
            nice(getpriority(__priority_which_t(0), 0)), descriptors(), threads(), signals(),
        ]
    }

    static func slack(_ slack_ns: Int64) -> Finding {
        Finding(
            "rights.timer-slack",
            timeText(slack_ns),
            slack_ns > 50_000 ? .warn : slack_ns == 50_000 ? .info : .ok,
            why:
                "The kernel may end any wait but a timerfd's late by this much; 50 µs is the default of ordinary processes.",
            fix: "it was inherited: start from a shell with the default, or call prctl(PR_SET_TIMERSLACK, 1)"
        )
    }

    static func realTime(_ error: CInt) -> Finding {
        Finding(
            "rights.real-time",
            error == 0 ? "SCHED_FIFO is granted" : "SCHED_FIFO is refused: \(String(cString: strerror(error)))",
            error == 0 ? .ok : .info,
            why: "A real-time thread runs before every ordinary one; --tune and RealTimeSettings ask for it."
        )
    }

    /// Tries SCHED_FIFO on a fresh thread, which ends afterwards.
    private static func fifoError() -> CInt {
        let error = try? onFreshThread { () -> CInt in
            var parameters = sched_param()
            parameters.sched_priority = sched_get_priority_min(SCHED_FIFO)
            return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters)
        }
        return error ?? EAGAIN
    }

    static func throttling(_ files: SystemFiles) -> Finding {
        let runtime_us = files.number("/proc/sys/kernel/sched_rt_runtime_us")
        let period_us = files.number("/proc/sys/kernel/sched_rt_period_us") ?? 1_000_000
        return Finding(
            "rights.real-time-throttling",
            runtime_us.map { $0 < 0 ? "off" : "\($0 / 1000) ms of \(period_us / 1000) ms" },
            runtime_us == 0 ? .warn : .info,
            why:
                "A real-time thread that spins longer is stopped for the rest of the period, with every deadline in it.",
            fix: "sysctl kernel.sched_rt_runtime_us=950000",
            needsRoot: true
        )
    }

    static func groupBudget(_ files: SystemFiles) -> Finding {
        let budget_us = files.number("/sys/fs/cgroup/cpu/cpu.rt_runtime_us")
        return Finding(
            "rights.real-time-group",
            budget_us.map { $0 > 0 ? "\($0) µs" : "none" } ?? "groups have no budgets",
            budget_us == 0 ? .warn : .info,
            why: "A control group without a real-time budget refuses SCHED_FIFO even to root.",
            fix: "write a budget to cpu.rt_runtime_us of the group",
            needsRoot: true
        )
    }

    static func nice(_ nice: CInt) -> Finding {
        Finding(
            "rights.nice",
            "\(nice)",
            nice > 0 ? .warn : .ok,
            why:
                "A nice process waits for others, and its poll timeouts may be 0.5 % late instead of 0.1 % (fs/select.c).",
            fix: "start it without nice"
        )
    }

    static func descriptors() -> Finding {
        let limit = limit(of: Int32(RLIMIT_NOFILE.rawValue))
        return Finding(
            "limits.descriptors",
            text(limit),
            (limit ?? .max) < 1024 ? .warn : .ok,
            why: "Each timerfd and each libevent loop takes descriptors.",
            fix: "ulimit -n 1024"
        )
    }

    static func threads() -> Finding {
        let limit = limit(of: Int32(__RLIMIT_NPROC.rawValue))
        return Finding(
            "limits.threads",
            text(limit),
            (limit ?? .max) < 256 ? .warn : .ok,
            why:
                "Dispatch, the concurrency runtime and timer_create(2) with SIGEV_THREAD start threads as they need them.",
            fix: "ulimit -u 4096"
        )
    }

    static func signals() -> Finding {
        let limit = limit(of: Int32(__RLIMIT_SIGPENDING.rawValue))
        return Finding(
            "limits.pending-signals",
            text(limit),
            (limit ?? .max) < 128 ? .warn : .ok,
            why: "Every POSIX timer takes one from timer_create(2) on; without one left there is EAGAIN.",
            fix: "ulimit -i 4096"
        )
    }

    /// Returns nil without a limit.
    private static func limit(of resource: Int32) -> UInt64? {
        var limits = rlimit()
        guard getrlimit(__rlimit_resource_t(UInt32(resource)), &limits) == 0 else { return nil }
        return limits.rlim_cur == .max ? nil : UInt64(limits.rlim_cur)
    }

    private static func text(_ limit: UInt64?) -> String {
        limit.map { Int(clamping: $0).grouped } ?? "unlimited"
    }
}
