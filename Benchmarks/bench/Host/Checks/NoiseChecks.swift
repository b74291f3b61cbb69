/// Checks of what interrupts threads from time to time.
enum NoiseChecks {
    static func findings(_ files: SystemFiles) -> [Finding] {
        [watchdog(files), balancer(files), heat(files)]
    }

    static func watchdog(_ files: SystemFiles) -> Finding {
        let value = files.read("/proc/sys/kernel/nmi_watchdog")
        return Finding(
            "noise.watchdog",
            value.map { $0 == "0" ? "off" : "on" } ?? "none",
            .info,
            why: "The watchdog interrupts each processor every few seconds, for some microseconds."
        )
    }

    static func balancer(_ files: SystemFiles) -> Finding {
        let isRunning = files.list("/proc").contains { process in
            process.allSatisfy(\.isNumber) && files.read("/proc/\(process)/comm") == "irqbalance"
        }
        return Finding(
            "noise.irqbalance",
            isRunning ? "runs" : "does not run",
            .info,
            why: "It moves interrupts between processors, also to the one that measures; fixed affinities are quieter."
        )
    }

    static func heat(_ files: SystemFiles) -> Finding {
        let times = files.number("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count")
        return Finding(
            "noise.heat",
            times.map { "throttled \($0) times since boot" } ?? "not told",
            (times ?? 0) > 0 ? .warn : .info,
            why:
                "A processor that is too hot slows down without telling: later blocks are then slower than earlier ones.",
            fix: "cool it, or lower the highest frequency"
        )
    }
}
