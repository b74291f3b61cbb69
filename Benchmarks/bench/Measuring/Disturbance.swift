// SPDX-License-Identifier: Apache-2.0
import CBench
import Foundation

/// The activity of others during a block: differences of the whole machine's counters, /proc/stat, proc_stat(5). The kernel
/// counts steal and load in ticks of 10 ms.
struct Disturbance: Sendable {
    var wall_ns: Int64 = 0
    var steal_ns: Int64 = 0
    var throttled_ns: Int64 = 0
    /// The time of all processors, without idle time and steal; and the parts of it in interrupts and in this process.
    var machineCPU_ns: Int64 = 0
    var interrupt_ns: Int64 = 0
    var ownCPU_ns: Int64 = 0
    /// Nil if the machine does not report it, or its counter has wrapped.
    var energy_uJ: Int64?

    var foreignCPU_ns: Int64 { max(0, machineCPU_ns - ownCPU_ns) }

    /// Whether the report marks the block: for any steal, any throttling, or other processes on a processor for more than a
    /// quarter of the time. Two ticks are allowed for rounding.
    var isMarked: Bool {
        steal_ns > 0 || throttled_ns > 0 || foreignCPU_ns > max(20_000_000, wall_ns / 4)
    }

    /// Returns the counters since the machine was booted. Those that cannot be read are 0.
    static func sinceBoot() -> Disturbance {
        let first = readText("/proc/stat")?.prefix { $0 != "\n" } ?? ""
        // cpu user nice system idle iowait irq softirq steal guest guest_nice
        let ticks = first.split(separator: " ").dropFirst().map { Int64($0) ?? 0 }
        let tick_ns = 1_000_000_000 / Int64(max(1, sysconf(Int32(_SC_CLK_TCK))))
        func time(_ columns: Int...) -> Int64 {
            columns.reduce(0) { $0 + (ticks.indices.contains($1) ? ticks[$1] : 0) } * tick_ns
        }
        let throttled_us = field("throttled_usec", in: readText("/sys/fs/cgroup/cpu.stat") ?? "")
        return Disturbance(
            wall_ns: cbench_now_ns(),
            steal_ns: time(7),
            throttled_ns: throttled_us.flatMap { Int64($0) }.map { $0 * 1000 } ?? 0,
            machineCPU_ns: time(0, 1, 2, 5, 6),
            interrupt_ns: time(5, 6),
            ownCPU_ns: cbench_usage_now().process_cpu_ns,
            energy_uJ: energy_uJ()
        )
    }

    /// Returns the energy of all packages since some moment, if the machine reports it and the process may read it
    /// (powercap, RAPL). Guests have none.
    private static func energy_uJ() -> Int64? {
        let values = (0..<8).compactMap { package in
            readText("/sys/class/powercap/intel-rapl:\(package)/energy_uj").flatMap {
                Int64($0.filter(\.isNumber))
            }
        }
        return values.isEmpty ? nil : values.reduce(0, &+)
    }

    static func - (now: Disturbance, earlier: Disturbance) -> Disturbance {
        Disturbance(
            wall_ns: now.wall_ns - earlier.wall_ns,
            steal_ns: now.steal_ns - earlier.steal_ns,
            throttled_ns: now.throttled_ns - earlier.throttled_ns,
            machineCPU_ns: now.machineCPU_ns - earlier.machineCPU_ns,
            interrupt_ns: now.interrupt_ns - earlier.interrupt_ns,
            ownCPU_ns: now.ownCPU_ns - earlier.ownCPU_ns,
            energy_uJ: now.energy_uJ.flatMap { now in earlier.energy_uJ.flatMap { now >= $0 ? now - $0 : nil } }
        )
    }
}
