/// Checks of the limits that a container or a control group imposes.
enum ContainerChecks {
    static func findings(_ files: SystemFiles) -> [Finding] {
        [groups(files), quota(files), throttled(files), filter(files)]
    }

    static func groups(_ files: SystemFiles) -> Finding {
        let isUnified = files.read("/sys/fs/cgroup/cgroup.controllers") != nil
        return Finding(
            "container.groups",
            isUnified ? "version 2" : files.list("/sys/fs/cgroup").isEmpty ? "none" : "version 1",
            .info,
            why: "Each version tells of throttling elsewhere; blocks that it disturbed are found by version 2 only."
        )
    }

    static func quota(_ files: SystemFiles) -> Finding {
        var text = "none"
        var isLimited = false
        if let limit = files.read("/sys/fs/cgroup/cpu.max") {
            isLimited = !limit.hasPrefix("max")
            text = isLimited ? "\(limit) µs" : "none"
        } else if let quota_us = files.number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), quota_us > 0 {
            isLimited = true
            text = "\(quota_us) of \(files.read("/sys/fs/cgroup/cpu/cpu.cfs_period_us") ?? "?") µs"
        }
        return Finding(
            "container.quota",
            text,
            isLimited ? .warn : .ok,
            why: "A group that has used up its quota stands still until the next period, up to 100 ms later.",
            fix: "run without a quota (docker run without --cpus; no CPU limit in Kubernetes)"
        )
    }

    static func throttled(_ files: SystemFiles) -> Finding {
        let times = ["/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"].lazy
            .compactMap { files.field("nr_throttled", of: $0) }.first.flatMap { Int($0) }
        return Finding(
            "container.throttled",
            times.map { "\($0.grouped) times" } ?? "not told",
            (times ?? 0) > 0 ? .warn : .ok,
            why: "How often this group was stopped by its quota so far: each of them is a latency of milliseconds.",
            fix: "raise the quota"
        )
    }

    static func filter(_ files: SystemFiles) -> Finding {
        let mode = files.field("Seccomp", of: "/proc/self/status")
        return Finding(
            "container.filter",
            mode.map { $0 == "0" ? "no system calls are filtered" : "system calls are filtered" },
            .info,
            why: "A seccomp filter runs at every system call, and may refuse newer ones (epoll_pwait2, io_uring)."
        )
    }
}
