import Glibc

/// Checks of how deeply processors sleep between deadlines.
enum IdleChecks {
    static func findings(_ files: SystemFiles) -> [Finding] {
        [driver(files), deepest(files), latencyBound(), haltPolling(files)]
    }

    static func driver(_ files: SystemFiles) -> Finding {
        let directory = "/sys/devices/system/cpu/cpuidle/"
        let driver = files.read(directory + "current_driver")
        let governor = files.first(directory + "current_governor", directory + "current_governor_ro")
        return Finding(
            "idle.driver",
            driver.map { "\($0), governor \(governor ?? "not told")" },
            .info,
            why:
                "Who decides how deeply a processor sleeps between two deadlines, and so how long it takes to come back."
        )
    }

    /// Checks the exit latency of the deepest state that is not disabled.
    static func deepest(_ files: SystemFiles) -> Finding {
        let directory = "/sys/devices/system/cpu/cpu0/cpuidle/"
        let states = files.list(directory).filter { files.read("\(directory)\($0)/disable") != "1" }
        let latencies_us = states.compactMap { files.number("\(directory)\($0)/latency") }
        let deepest_us = latencies_us.max()
        return Finding(
            "idle.deepest-state",
            deepest_us.map { "takes \(timeText($0 * 1000)) to leave" } ?? "no states: the hypervisor idles",
            (deepest_us ?? 0) > 20 ? .warn : deepest_us == nil ? .info : .ok,
            why: "A wake-up from the deepest state is late by the time it takes to leave it.",
            fix: "bench run --tune holds /dev/cpu_dma_latency at 0; or: cpupower idle-set -D 10",
            needsRoot: true
        )
    }

    static func latencyBound() -> Finding {
        let isWritable = access("/dev/cpu_dma_latency", W_OK) == 0
        return Finding(
            "idle.latency-bound",
            isWritable ? "may be held" : "may not be held (\(String(cString: strerror(errno))))",
            isWritable ? .ok : .info,
            why: "Who may write /dev/cpu_dma_latency can keep processors out of deep sleep for as long as it runs."
        )
    }

    static func haltPolling(_ files: SystemFiles) -> Finding {
        let limit_ns = files.number("/sys/module/haltpoll/parameters/guest_halt_poll_ns")
        return Finding(
            "idle.halt-polling",
            limit_ns.map { "a guest polls up to \(timeText($0)) before it halts" } ?? "not in use",
            .info,
            why: "A guest that polls before it halts wakes sooner from short waits, and uses the processor meanwhile."
        )
    }
}
