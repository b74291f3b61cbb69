// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerLibc

/// A sample of the clocks and counters that show whether the process was away.
struct PresenceSample: Sendable, Equatable {
    /// `CLOCK_MONOTONIC`, and how much `CLOCK_BOOTTIME` is ahead of it: the total time of suspension, apart from the
    /// offsets of a time namespace.
    var monotonic_ns: Int64
    var suspended_ns: Int64
    /// Processor time of the process so far.
    var used_ns: Int64
    /// How long the sampling thread has waited for a processor so far; nil if the kernel does not count it.
    var waited_ns: Int64?
    /// How much `CLOCK_REALTIME` is ahead of `CLOCK_BOOTTIME`: changes when the wall clock is set, and only a little when it
    /// is slewed. Nil if it was not sampled.
    var wallAhead_ns: Int64?

    /// Takes a sample.
    static func now() -> PresenceSample {
        var monotonic_ns: Int64 = 0
        var boot_ns: Int64 = 0
        var wall_ns: Int64 = 0
        // The clocks cannot be read at once: reads them again if the thread was interrupted in between.
        for _ in 0..<8 {
            let before_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC)
            boot_ns = hrt_clock_now_ns(HRT_CLOCK_BOOT)
            wall_ns = hrt_clock_now_ns(HRT_CLOCK_WALL)
            monotonic_ns = hrt_clock_now_ns(HRT_CLOCK_MONOTONIC)
            if monotonic_ns - before_ns < 100_000 { break }
        }
        return PresenceSample(
            monotonic_ns: monotonic_ns,
            suspended_ns: boot_ns - monotonic_ns,
            used_ns: hrt_clock_process_cpu_ns(),
            waited_ns: threadWaited_ns(),
            wallAhead_ns: wall_ns - boot_ns
        )
    }

    /// Returns the time that the thread was runnable but not running, `run_delay` in kernel/sched/stats.h: the second number
    /// of /proc/thread-self/schedstat, proc_pid_schedstat in the kernel's Documentation/scheduler/sched-stats.rst. Returns
    /// nil without CONFIG_SCHED_INFO, without /proc, and without a descriptor.
    private static func threadWaited_ns() -> Int64? {
        let file = unsafe open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        // Safe: only the bytes that were read are looked at.
        return unsafe withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { bytes in
            let count = unsafe read(file, bytes.baseAddress, bytes.count)
            guard count > 0 else { return nil }
            let fields = unsafe bytes[..<count].split(separator: UInt8(ascii: " "))
            return unsafe fields.count >= 2 ? Int64(String(decoding: fields[1], as: UTF8.self)) : nil
        }
    }
}
#endif
