// SPDX-License-Identifier: Apache-2.0
// The clock that deadlines are on, and the hardware that ends waits.
extension Check {
    private static let clockSource = "/sys/devices/system/clocksource/clocksource0/"

    static let clock: [Check] = [
        Check(
            "clock.source",
            why: "A clock that is not read in user space makes each reading a system call, and each stamp late by it.",
            rootFix: "boot with tsc=reliable, or write tsc to \(clockSource)current_clocksource"
        ) { machine in
            guard let source = machine.read(clockSource + "current_clocksource") else { return Judgement(nil, .info) }
            let isFast = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"].contains(source)
            let available = machine.read(clockSource + "available_clocksource") ?? source
            return Judgement("\(source) (of \(available))", isFast ? .ok : .warn)
        },
        Check(
            "clock.counter",
            why: "A counter that changes its rate or stops in idle cannot carry deadlines.",
            fix: "in a guest, expose the invariant TSC (QEMU: -cpu host,+invtsc)"
        ) { machine in
            guard let flags = machine.flags else { return Judgement("no flags told: not an x86 processor", .info) }
            let wanted = ["constant_tsc", "nonstop_tsc"]
            let missing = wanted.filter { !flags.contains($0) }
            if missing.isEmpty { return Judgement(wanted.joined(separator: ", "), .ok) }
            return Judgement("without \(missing.joined(separator: ", "))", .warn)
        },
        Check(
            "clock.resolution",
            why: "More than 1 ns means that the kernel runs without high-resolution timers: every wait ends on a tick.",
            fix: "boot without highres=off, with a kernel that has CONFIG_HIGH_RES_TIMERS"
        ) { machine in
            Judgement(machine.resolution_ns.map { timeText($0) }, machine.resolution_ns == 1 ? .ok : .bad)
        },
        Check(
            "clock.tick",
            why: "Coarse clocks move by this much; libevent's default loop and timeouts in jiffies are no finer."
        ) { machine in
            Judgement(machine.tick_ns.map { "\(timeText($0)), HZ=\(1_000_000_000 / max(1, $0))" }, .info)
        },
        Check(
            "clock.event-device",
            why: "What raises the interrupt at a deadline; one device for all processors adds a detour for each timer.",
            fix: "boot without nolapic_timer, so that each processor has a timer of its own"
        ) { machine in
            let device = machine.read("/sys/devices/system/clockevents/clockevent0/current_device")
            return Judgement(device, device == nil ? .info : ["hpet", "pit"].contains(device) ? .warn : .ok)
        },
        Check(
            "clock.namespace",
            why: "Instants of a shifted clock cannot be held against those of processes outside the namespace."
        ) { machine in
            let lines = (machine.read("/proc/self/timens_offsets") ?? "").split(separator: "\n")
            let isShifted = lines.contains { $0.split(separator: " ").dropFirst().contains { $0 != "0" } }
            let state = isShifted ? "clocks are shifted" : "clocks as the system has them"
            return Judgement(lines.isEmpty ? "no time namespaces" : state, .info)
        },
    ]
}
