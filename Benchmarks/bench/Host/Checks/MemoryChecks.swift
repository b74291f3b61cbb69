import Glibc

/// Checks of what may remove a page that a thread is about to need.
enum MemoryChecks {
    static func findings(_ files: SystemFiles) -> [Finding] {
        [locking(), swap(files), hugePages(files), balancing(files)]
    }

    private static func locking() -> Finding {
        var limits = rlimit()
        _ = getrlimit(__rlimit_resource_t(UInt32(__RLIMIT_MEMLOCK.rawValue)), &limits)
        return locking(limits.rlim_cur == .max ? nil : UInt64(limits.rlim_cur), isRoot: geteuid() == 0)
    }

    static func locking(_ limit: UInt64?, isRoot: Bool) -> Finding {
        let text = limit.map { "\($0 >> 10) KiB\(isRoot ? ", which root may pass" : "")" } ?? "unlimited"
        return Finding(
            "memory.locking",
            text,
            limit == nil || isRoot ? .ok : .info,
            why: "mlockall(2) keeps every page in memory: a page fault at a deadline costs from 1 µs to milliseconds."
        )
    }

    static func swap(_ files: SystemFiles) -> Finding {
        func kilobytes(_ name: String) -> Int64? {
            files.field(name, of: "/proc/meminfo").flatMap { $0.split(separator: " ").first.flatMap { Int64($0) } }
        }
        let total = kilobytes("SwapTotal"), free = kilobytes("SwapFree")
        let used = total.flatMap { total in free.map { total - $0 } }
        return Finding(
            "memory.swap",
            total == 0 ? "none" : used.map { "\($0 >> 10) MiB in use" },
            (used ?? 0) > 0 ? .warn : .ok,
            why: "A page that was swapped out comes back in milliseconds, in the middle of a fire.",
            fix: "swapoff -a, or lock memory (--tune)",
            needsRoot: true
        )
    }

    static func hugePages(_ files: SystemFiles) -> Finding {
        let mode = files.chosen("/sys/kernel/mm/transparent_hugepage/enabled")
        return Finding(
            "memory.huge-pages",
            mode ?? "not told",
            .info,
            why: "With \"always\" the kernel stops threads at times to put pages together; large queues gain from it."
        )
    }

    static func balancing(_ files: SystemFiles) -> Finding {
        let mode = files.read("/proc/sys/kernel/numa_balancing")
        let nodes = files.list("/sys/devices/system/node").filter { $0.hasPrefix("node") }.count
        return Finding(
            "memory.numa",
            "\(max(1, nodes)) nodes, balancing \(mode == nil || mode == "0" ? "off" : "on")",
            mode != nil && mode != "0" && nodes > 1 ? .warn : .ok,
            why: "Balancing unmaps pages to see who uses them, which shows as faults of microseconds at random.",
            fix: "sysctl kernel.numa_balancing=0, or numactl --membind",
            needsRoot: true
        )
    }
}
