import CBench
import Foundation

/// What the machine did to everyone at some moment, counted since it was started: /proc/stat, proc_stat(5).
struct MachineLoad: Sendable {
    private let busy_ns: Int64
    private let steal_ns: Int64
    private let throttled_ns: Int64
    private let own_ns: Int64
    private let now_ns: Int64

    /// The present state. What cannot be read counts as 0.
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
            steal_ns: time(7),
            throttled_ns: throttled_ns(),
            own_ns: cbench_usage_now().process_cpu_ns,
            now_ns: cbench_now_ns()
        )
    }

    /// Time for which the control group's quota held this process back; 0 where there is none.
    private static func throttled_ns() -> Int64 {
        guard let text = readText("/sys/fs/cgroup/cpu.stat") else { return 0 }
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.first == "throttled_usec" { return (words.last.flatMap { Int64($0) } ?? 0) * 1000 }
        }
        return 0
    }

    /// What happened between `earlier` and this.
    func since(_ earlier: MachineLoad) -> Disturbance {
        Disturbance(
            wall_ns: now_ns - earlier.now_ns,
            steal_ns: steal_ns - earlier.steal_ns,
            throttled_ns: throttled_ns - earlier.throttled_ns,
            foreignCPU_ns: max(0, busy_ns - earlier.busy_ns - (own_ns - earlier.own_ns))
        )
    }
}

/// What others did during a block. The kernel counts steal and load in ticks of 10 ms.
struct Disturbance: Sendable {
    var wall_ns: Int64 = 0
    var steal_ns: Int64 = 0
    var throttled_ns: Int64 = 0
    var foreignCPU_ns: Int64 = 0

    /// Marked in the report for: any steal, any throttling, or others on a processor for more than a quarter of the time.
    /// Two ticks are let through as rounding.
    var isMarked: Bool {
        steal_ns > 0 || throttled_ns > 0 || foreignCPU_ns > max(20_000_000, wall_ns / 4)
    }
}
