import CBench
import Foundation

/// Counters of the whole machine at some moment, since it was booted: /proc/stat, proc_stat(5).
struct MachineLoad: Sendable {
    private let busy_ns: Int64
    private let interrupt_ns: Int64
    private let steal_ns: Int64
    private let throttled_ns: Int64
    private let own_ns: Int64
    private let energy_uJ: Int64?
    private let now_ns: Int64

    /// Returns the present state. Counters that cannot be read count as 0.
    static func now() -> MachineLoad {
        let first = readText("/proc/stat")?.prefix { $0 != "\n" } ?? ""
        // cpu user nice system idle iowait irq softirq steal guest guest_nice
        let ticks = first.split(separator: " ").dropFirst().map { Int64($0) ?? 0 }
        let tick_ns = 1_000_000_000 / Int64(max(1, sysconf(Int32(_SC_CLK_TCK))))
        func time(_ columns: Int...) -> Int64 {
            columns.reduce(0) { $0 + (ticks.indices.contains($1) ? ticks[$1] : 0) } * tick_ns
        }
        return MachineLoad(
            busy_ns: time(0, 1, 2, 5, 6),
            interrupt_ns: time(5, 6),
            steal_ns: time(7),
            throttled_ns: throttled_ns(),
            own_ns: cbench_usage_now().process_cpu_ns,
            energy_uJ: energy_uJ(),
            now_ns: cbench_now_ns()
        )
    }

    /// Returns the time for which the control group's quota has throttled this process; 0 without a quota.
    private static func throttled_ns() -> Int64 {
        guard let text = readText("/sys/fs/cgroup/cpu.stat") else { return 0 }
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.first == "throttled_usec" { return (words.last.flatMap { Int64($0) } ?? 0) * 1000 }
        }
        return 0
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

    /// Returns the differences between `earlier` and this state.
    func since(_ earlier: MachineLoad) -> Disturbance {
        Disturbance(
            wall_ns: now_ns - earlier.now_ns,
            steal_ns: steal_ns - earlier.steal_ns,
            throttled_ns: throttled_ns - earlier.throttled_ns,
            foreignCPU_ns: max(0, busy_ns - earlier.busy_ns - (own_ns - earlier.own_ns)),
            machineCPU_ns: busy_ns - earlier.busy_ns,
            interrupt_ns: interrupt_ns - earlier.interrupt_ns,
            // The counter wraps from time to time. A block in which it wraps has no value.
            energy_uJ: energy_uJ.flatMap { now in earlier.energy_uJ.flatMap { now >= $0 ? now - $0 : nil } }
        )
    }
}

/// The activity of others during a block. The kernel counts steal and load in ticks of 10 ms.
struct Disturbance: Sendable {
    var wall_ns: Int64 = 0
    var steal_ns: Int64 = 0
    var throttled_ns: Int64 = 0
    var foreignCPU_ns: Int64 = 0
    /// The time of all processors, without idle time and steal; and the part of it in interrupts.
    var machineCPU_ns: Int64 = 0
    var interrupt_ns: Int64 = 0
    var energy_uJ: Int64?

    /// Whether the report marks the block: for any steal, any throttling, or other processes on a processor for more than a
    /// quarter of the time. Two ticks are allowed for rounding.
    var isMarked: Bool {
        steal_ns > 0 || throttled_ns > 0 || foreignCPU_ns > max(20_000_000, wall_ns / 4)
    }
}
