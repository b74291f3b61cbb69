// SPDX-License-Identifier: Apache-2.0
import Glibc

// The processors, their frequency, who else may use them, and how deeply they sleep between deadlines.
extension Check {
    private static let system = "/sys/devices/system/cpu/"

    static let processor: [Check] = [
        Check(
            "processor.count",
            why: "With one processor, everything that runs stands between a deadline and its thread.",
            fix: "give the machine a second processor"
        ) { Judgement("\($0.online) online", $0.online > 1 ? .ok : .warn) },
        Check(
            "processor.affinity",
            why: "Subjects with threads of their own share what is allowed with the thread that measures."
        ) { machine in
            let isRestricted = machine.allowed > 0 && machine.allowed < machine.online
            return Judgement(isRestricted ? "\(machine.allowed) of \(machine.online) allowed" : "all allowed", .info)
        },
        Check(
            "processor.siblings",
            why:
                "A busy sibling slows a core by a third and more, and with it the way from the interrupt to the handler."
        ) { machine in
            let isActive = machine.read(system + "smt/active") == "1"
            return Judgement(machine.read(system + "smt/control").map { isActive ? "SMT is on" : "SMT: \($0)" }, .info)
        },
        Check(
            "processor.isolated",
            why: "A thread on an isolated processor meets no other; --cpu puts the measuring threads there."
        ) { machine in
            let isolated = machine.read(system + "isolated") ?? "", tickless = machine.read(system + "nohz_full") ?? ""
            let isNone = isolated.isEmpty && tickless.isEmpty
            return Judgement(isNone ? "none" : "isolated \(isolated), without a tick \(tickless)", .info)
        },
        Check(
            "processor.timer-migration",
            why: "An idle processor hands its timers to a busy one, whose interrupt then has to wake the first."
        ) { Judgement($0.read("/proc/sys/kernel/timer_migration").map { $0 == "0" ? "off" : "on" }, .info) },
        Check(
            "frequency.governor",
            why: "A processor that has slowed down in the wait runs the first microseconds after it slowly.",
            rootFix: "cpupower frequency-set -g performance"
        ) { machine in
            guard let governor = machine.read(system + "cpu0/cpufreq/scaling_governor") else {
                return Judgement("none here, as in most guests", .info)
            }
            return Judgement(governor, governor == "performance" ? .ok : .warn)
        },
        Check(
            "frequency.boost",
            why: "Boosted clocks depend on heat and neighbours, so that two runs differ by more than their code."
        ) { machine in
            let boost = machine.read(system + "cpufreq/boost")
            let noTurbo = machine.read(system + "intel_pstate/no_turbo")
            let state = boost == "1" || noTurbo == "0" ? "on" : "off"
            return Judgement(boost == nil && noTurbo == nil ? "not told" : state, .info)
        },
        Check("frequency.range", why: "The lowest frequency is the one that a rarely woken thread starts at.") {
            machine in
            let low = machine.number(system + "cpu0/cpufreq/scaling_min_freq")
            let high = machine.number(system + "cpu0/cpufreq/scaling_max_freq")
            guard let low, let high else { return Judgement("not told", .info) }
            return Judgement("\(low / 1000) to \(high / 1000) MHz", .info)
        },
        Check(
            "processor.virtual",
            why:
                "In a guest timer interrupts go through the host, which costs microseconds and may take a processor away.",
            fix: "measure on bare metal; in a guest, pin the virtual processors and compare within one run only"
        ) { machine in
            let vendor = machine.read("/sys/class/dmi/id/sys_vendor").map { ", \($0)" } ?? ""
            let isGuest = machine.flags?.contains("hypervisor") == true
            return Judgement((isGuest ? "guest of a hypervisor" : "no hypervisor seen") + vendor, isGuest ? .warn : .ok)
        },
    ]

    static let idle: [Check] = [
        Check(
            "idle.driver",
            why:
                "Who decides how deeply a processor sleeps between two deadlines, and so how long it takes to come back."
        ) { machine in
            let directory = system + "cpuidle/"
            let governor = machine.first(directory + "current_governor", directory + "current_governor_ro")
            let driver = machine.read(directory + "current_driver")
            return Judgement(driver.map { "\($0), governor \(governor ?? "not told")" }, .info)
        },
        Check(
            "idle.deepest-state",
            why: "A wake-up from the deepest state is late by the time it takes to leave it.",
            rootFix: "bench run --tune holds /dev/cpu_dma_latency at 0; or: cpupower idle-set -D 10"
        ) { machine in
            let directory = system + "cpu0/cpuidle/"
            let states = machine.list(directory).filter { machine.read("\(directory)\($0)/disable") != "1" }
            let deepest_us = states.compactMap { machine.number("\(directory)\($0)/latency") }.max()
            guard let deepest_us else { return Judgement("no states: the hypervisor idles", .info) }
            return Judgement("takes \(timeText(deepest_us * 1000)) to leave", deepest_us > 20 ? .warn : .ok)
        },
        Check(
            "idle.latency-bound",
            why: "Who may write /dev/cpu_dma_latency can keep processors out of deep sleep for as long as it runs."
        ) { _ in
            if access("/dev/cpu_dma_latency", W_OK) == 0 { return Judgement("may be held", .ok) }
            return Judgement("may not be held (\(String(cString: strerror(errno))))", .info)
        },
        Check(
            "idle.halt-polling",
            why: "A guest that polls before it halts wakes sooner from short waits, and uses the processor meanwhile."
        ) { machine in
            let limit_ns = machine.number("/sys/module/haltpoll/parameters/guest_halt_poll_ns")
            return Judgement(
                limit_ns.map { "a guest polls up to \(timeText($0)) before it halts" } ?? "not in use",
                .info
            )
        },
    ]
}
