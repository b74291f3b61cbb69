import CBench
import CHRTimer
import Glibc

/// Checks of the number of processors, their frequency, and who else may use them.
enum ProcessorChecks {
    static func findings(_ files: SystemFiles) -> [Finding] {
        [
            count(Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))),
            affinity(allowed: cbench_affinity().nonzeroBitCount, online: Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))),
            threading(files), isolation(files), migration(files), governor(files), boost(files), range(files),
            virtualisation(files),
        ]
    }

    static func count(_ online: Int) -> Finding {
        Finding(
            "processor.count",
            "\(online) online",
            online > 1 ? .ok : .warn,
            why: "With one processor, everything that runs stands between a deadline and its thread.",
            fix: "give the machine a second processor"
        )
    }

    static func affinity(allowed: Int, online: Int) -> Finding {
        let isRestricted = allowed > 0 && allowed < online
        return Finding(
            "processor.affinity",
            isRestricted ? "\(allowed) of \(online) allowed" : "all allowed",
            .info,
            why: "Subjects with threads of their own share what is allowed with the thread that measures."
        )
    }

    static func threading(_ files: SystemFiles) -> Finding {
        let control = files.read("/sys/devices/system/cpu/smt/control")
        let isActive = files.read("/sys/devices/system/cpu/smt/active") == "1"
        return Finding(
            "processor.siblings",
            control.map { isActive ? "SMT is on" : "SMT: \($0)" },
            .info,
            why:
                "A busy sibling slows a core by a third and more, and with it the way from the interrupt to the handler."
        )
    }

    static func isolation(_ files: SystemFiles) -> Finding {
        let isolated = files.read("/sys/devices/system/cpu/isolated") ?? ""
        let tickless = files.read("/sys/devices/system/cpu/nohz_full") ?? ""
        return Finding(
            "processor.isolated",
            isolated.isEmpty && tickless.isEmpty ? "none" : "isolated \(isolated), without a tick \(tickless)",
            .info,
            why: "A thread on an isolated processor meets no other; --cpu puts the measuring threads there."
        )
    }

    static func migration(_ files: SystemFiles) -> Finding {
        let value = files.read("/proc/sys/kernel/timer_migration")
        return Finding(
            "processor.timer-migration",
            value.map { $0 == "0" ? "off" : "on" },
            .info,
            why: "An idle processor hands its timers to a busy one, whose interrupt then has to wake the first."
        )
    }

    static func governor(_ files: SystemFiles) -> Finding {
        let governor = files.read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
        return Finding(
            "frequency.governor",
            governor ?? "none here, as in most guests",
            governor == nil ? .info : governor == "performance" ? .ok : .warn,
            why: "A processor that has slowed down in the wait runs the first microseconds after it slowly.",
            fix: "cpupower frequency-set -g performance",
            needsRoot: true
        )
    }

    static func boost(_ files: SystemFiles) -> Finding {
        let boost = files.read("/sys/devices/system/cpu/cpufreq/boost")
        let noTurbo = files.read("/sys/devices/system/cpu/intel_pstate/no_turbo")
        let isOn = boost == "1" || noTurbo == "0"
        return Finding(
            "frequency.boost",
            boost == nil && noTurbo == nil ? "not told" : isOn ? "on" : "off",
            .info,
            why: "Boosted clocks depend on heat and neighbours, so that two runs differ by more than their code."
        )
    }

    static func range(_ files: SystemFiles) -> Finding {
        let directory = "/sys/devices/system/cpu/cpu0/cpufreq/"
        let low = files.number(directory + "scaling_min_freq"), high = files.number(directory + "scaling_max_freq")
        let text = low.flatMap { low in high.map { "\(low / 1000) to \($0 / 1000) MHz" } }
        return Finding(
            "frequency.range",
            text ?? "not told",
            .info,
            why: "The lowest frequency is the one that a rarely woken thread starts at."
        )
    }

    static func virtualisation(_ files: SystemFiles) -> Finding {
        let flags = files.field("flags", of: "/proc/cpuinfo")?.split(separator: " ") ?? []
        let vendor = files.read("/sys/class/dmi/id/sys_vendor").map { ", \($0)" } ?? ""
        let isGuest = flags.contains("hypervisor")
        return Finding(
            "processor.virtual",
            isGuest ? "guest of a hypervisor\(vendor)" : "no hypervisor seen\(vendor)",
            isGuest ? .warn : .ok,
            why:
                "In a guest timer interrupts go through the host, which costs microseconds and may take a processor away.",
            fix: "measure on bare metal; in a guest, pin the virtual processors and compare within one run only"
        )
    }
}
