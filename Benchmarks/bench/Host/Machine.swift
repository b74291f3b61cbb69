// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer
import Foundation

/// What the doctor looks at: the kernel's files, and the answers of system calls. In a test both are invented.
struct Machine: Sendable {
    /// Returns the text of a file without white space around it; nil if it cannot be read.
    var read: @Sendable (String) -> String? = { path in
        readText(path).map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
    }
    /// Returns the names in a directory, sorted; empty if there is no such directory.
    var list: @Sendable (String) -> [String] = { path in
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    var resolution_ns = resolution_ns(of: CLOCK_MONOTONIC)
    var tick_ns = resolution_ns(of: CLOCK_MONOTONIC_COARSE)
    var online = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    var allowed = cbench_affinity().nonzeroBitCount
    var slack_ns = Int64(clamping: hrt_thread_timer_slack_ns())
    /// 0 where threads have no slice of their own.
    var slice_ns = Int64(clamping: hrt_thread_slice_ns())
    var nice = getpriority(__priority_which_t(0), 0)
    /// The errno of a request for SCHED_FIFO.
    var fifoError = fifoErrorOfFreshThread()
    var timerfdStatus = cbench_probe_timerfd()
    var epollStatus = cbench_probe_epoll_pwait2()
    var build = buildName
    var sanitizer = cbench_sanitizer().map { String(cString: $0) }
    var libeventMethod = cbench_libevent_method().map { String(cString: $0) }
    /// What short measurements found; they come last, so that no other check sees their load.
    var measured = Measurements()

    /// The results of short measurements.
    struct Measurements: Sendable {
        var reading_ns = 0.0
        /// Of fifty waits of 1 ms for absolute deadlines, on an ordinary thread.
        var sleeps_ns: [Int64] = []
        var longestGap_ns: Int64 = 0
        var steal_ns: Int64 = 0

        static func now() -> Measurements {
            let before = Disturbance.sinceBoot()
            let fires = try? onFreshThread { () -> [Fire] in
                let recorder = BlockRecorder(fires: 50, interval_ns: 1_000_000, phase_ns: 0)
                try recorder.fill(cbench_clock_nanosleep_abs)
                return recorder.fires
            }
            let gap_ns = cbench_longest_gap_ns(100_000_000)
            return Measurements(
                reading_ns: readingCost_ns(),
                sleeps_ns: (fires ?? []).map(\.lateness_ns),
                longestGap_ns: gap_ns,
                steal_ns: (Disturbance.sinceBoot() - before).steal_ns
            )
        }
    }
}

// Reading the kernel's files.
extension Machine {
    /// Returns the text of the first file that can be read.
    func first(_ paths: String...) -> String? { paths.lazy.compactMap(read).first }

    func number(_ path: String) -> Int64? { read(path).flatMap { Int64($0) } }

    func field(_ name: String, of path: String) -> String? { bench.field(name, in: read(path) ?? "") }

    /// The processor's flags; nil if it is no x86 processor.
    var flags: Set<String>? {
        field("flags", of: "/proc/cpuinfo").map { Set($0.split(separator: " ").map(String.init)) }
    }

    /// Returns the text between brackets, as in "always [madvise] never".
    func chosen(_ path: String) -> String? {
        guard let text = read(path), let open = text.firstIndex(of: "["), let close = text.firstIndex(of: "]"),
            open < close
        else { return nil }
        return String(text[text.index(after: open)..<close])
    }

    /// Returns a limit of resources of this process; nil if there is none.
    static func limit(of resource: Int32) -> UInt64? {
        var limits = rlimit()
        guard getrlimit(__rlimit_resource_t(UInt32(resource)), &limits) == 0 else { return nil }
        return limits.rlim_cur == .max ? nil : UInt64(limits.rlim_cur)
    }

    private static func resolution_ns(of clock: clockid_t) -> Int64? {
        var resolution = timespec()
        guard clock_getres(clock, &resolution) == 0 else { return nil }
        return Int64(resolution.tv_sec) * 1_000_000_000 + Int64(resolution.tv_nsec)
    }

    /// Tries SCHED_FIFO on a fresh thread, which ends afterwards.
    private static func fifoErrorOfFreshThread() -> CInt {
        let error = try? onFreshThread { () -> CInt in
            var parameters = sched_param()
            parameters.sched_priority = sched_get_priority_min(SCHED_FIFO)
            return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters)
        }
        return error ?? EAGAIN
    }
}

/// Returns the value of the first line "name : value", "name value" or "name=value".
func field(_ name: String, in text: String) -> String? {
    for line in text.split(separator: "\n") where line.hasPrefix(name) {
        let rest = line.dropFirst(name.count)
        guard let next = rest.first, " \t:=".contains(next) else { continue }
        return rest.trimmingCharacters(in: CharacterSet(charactersIn: " \t:="))
    }
    return nil
}
