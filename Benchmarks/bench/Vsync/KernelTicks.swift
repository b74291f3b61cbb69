// SPDX-License-Identifier: Apache-2.0
import CBench
import CHRTimer

/// What the machine itself can achieve at a display's rate: a thread that sleeps by clock_nanosleep(2), with the slack of
/// this library's threads, while a link follows the display.
struct KernelTicks {
    /// How late the thread woke; sorted, in ns.
    let lateness_ns: [Int64]
    /// The number of deadlines that passed before the thread woke for the previous one.
    let missed: Int

    /// Sleeps for `periods` periods on the calling thread, half a period after each refresh, so as not to disturb the link.
    static func measure(_ periods: Int, of period_ns: Int64, since refresh_ns: Int64) throws -> KernelTicks {
        let middle_ns = refresh_ns + period_ns / 2 - period_ns
        let recorder = BlockRecorder(
            fires: periods,
            interval_ns: period_ns,
            phase_ns: period_ns - (cbench_now_ns() + BlockRecorder.lead_ns - middle_ns) % period_ns,
            patience_ns: 0
        )
        let status = hrt_thread_set_timer_slack_ns(1)
        if status != 0 { throw BenchError("timer slack cannot be set (errno \(-status))") }
        try recorder.fill(cbench_clock_nanosleep_abs)
        return KernelTicks(recorder.fires, period_ns: period_ns)
    }

    init(_ fires: [Fire], period_ns: Int64) {
        lateness_ns = fires.map { $0.woke_ns - $0.deadline_ns }.sorted()
        missed = zip(fires, fires.dropFirst()).reduce(0) {
            $0 + Int(($1.1.deadline_ns - $1.0.deadline_ns) / period_ns) - 1
        }
    }
}
