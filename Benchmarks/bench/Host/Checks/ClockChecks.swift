import Glibc

/// Checks of the clock that deadlines are on, and of the hardware that ends waits.
enum ClockChecks {
    static func findings(_ files: SystemFiles) -> [Finding] {
        [
            source(files), flags(files), resolution(resolution_ns(of: CLOCK_MONOTONIC)),
            tick(resolution_ns(of: CLOCK_MONOTONIC_COARSE)), device(files), offsets(files),
        ]
    }

    static func source(_ files: SystemFiles) -> Finding {
        let directory = "/sys/devices/system/clocksource/clocksource0/"
        let source = files.read(directory + "current_clocksource")
        let isFast = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"].contains(source ?? "tsc")
        return Finding(
            "clock.source",
            source.map { "\($0) (of \(files.read(directory + "available_clocksource") ?? $0))" },
            source == nil ? .info : isFast ? .ok : .warn,
            why: "A clock that is not read in user space makes each reading a system call, and each stamp late by it.",
            fix: "boot with tsc=reliable, or write tsc to \(directory)current_clocksource",
            needsRoot: true
        )
    }

    static func flags(_ files: SystemFiles) -> Finding {
        let why = "A counter that changes its rate or stops in idle cannot carry deadlines."
        guard let text = files.field("flags", of: "/proc/cpuinfo") else {
            return Finding("clock.counter", "no flags told: not an x86 processor", .info, why: why)
        }
        let flags = Set(text.split(separator: " ").map(String.init))
        let wanted = ["constant_tsc", "nonstop_tsc"]
        let missing = wanted.filter { !flags.contains($0) }
        return Finding(
            "clock.counter",
            missing.isEmpty ? wanted.joined(separator: ", ") : "without \(missing.joined(separator: ", "))",
            missing.isEmpty ? .ok : .warn,
            why: why,
            fix: "in a guest, expose the invariant TSC (QEMU: -cpu host,+invtsc)"
        )
    }

    static func resolution(_ resolution_ns: Int64?) -> Finding {
        Finding(
            "clock.resolution",
            resolution_ns.map { timeText($0) },
            resolution_ns == 1 ? .ok : .bad,
            why: "More than 1 ns means that the kernel runs without high-resolution timers: every wait ends on a tick.",
            fix: "boot without highres=off, with a kernel that has CONFIG_HIGH_RES_TIMERS"
        )
    }

    static func tick(_ coarse_ns: Int64?) -> Finding {
        Finding(
            "clock.tick",
            coarse_ns.map { "\(timeText($0)), HZ=\(1_000_000_000 / max(1, $0))" },
            .info,
            why: "Coarse clocks move by this much; libevent's default loop and timeouts in jiffies are no finer."
        )
    }

    static func device(_ files: SystemFiles) -> Finding {
        let device = files.read("/sys/devices/system/clockevents/clockevent0/current_device")
        return Finding(
            "clock.event-device",
            device,
            device == nil ? .info : ["hpet", "pit"].contains(device) ? .warn : .ok,
            why: "What raises the interrupt at a deadline; one device for all processors adds a detour for each timer.",
            fix: "boot without nolapic_timer, so that each processor has a timer of its own"
        )
    }

    static func offsets(_ files: SystemFiles) -> Finding {
        let lines = (files.read("/proc/self/timens_offsets") ?? "").split(separator: "\n")
        let isShifted = lines.contains { $0.split(separator: " ").dropFirst().contains { $0 != "0" } }
        return Finding(
            "clock.namespace",
            lines.isEmpty ? "no time namespaces" : isShifted ? "clocks are shifted" : "clocks as the system has them",
            .info,
            why: "Instants of a shifted clock cannot be held against those of processes outside the namespace."
        )
    }

    static func resolution_ns(of clock: clockid_t) -> Int64? {
        var resolution = timespec()
        guard clock_getres(clock, &resolution) == 0 else { return nil }
        return Int64(resolution.tv_sec) * 1_000_000_000 + Int64(resolution.tv_nsec)
    }
}
