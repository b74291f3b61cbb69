// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

/// Finds out from two samples of the clocks whether the process was away in between, and why. It reads no clocks: its caller
/// passes the samples in.
///
/// A heartbeat is due one interval after the last sample. Its lateness is the time in which its thread did not run. The
/// machine was busy if the scheduler counts that the thread waited for a processor meanwhile, or if the process used more
/// processor time than fits into the interval before; otherwise the process was stopped.
struct AbsenceDetector: Sendable {
    /// The interval of the heartbeat. `Int64.max` for no heartbeat: then no lateness can be known.
    let heartbeat_ns: Int64
    /// Shorter absences are not reported.
    let bound_ns: Int64
    let processors: Int64
    private var last: PresenceSample
    /// The total time of suspension when an absence was last reported. It is not that of the last sample, so that several
    /// short suspensions add up.
    private var toldSuspended_ns: Int64

    init(heartbeat_ns: Int64, bound_ns: Int64, processors: Int, first: PresenceSample) {
        self.heartbeat_ns = heartbeat_ns
        self.bound_ns = bound_ns
        self.processors = Int64(processors)
        last = first
        toldSuspended_ns = first.suspended_ns
    }

    /// Returns the absence that the sample shows, or nil if the process was not away.
    mutating func absence(at sample: PresenceSample) -> SuspensionMonitor.Absence? {
        defer { last = sample }
        let suspended_ns = sample.suspended_ns.subtractingSaturating(toldSuspended_ns)
        let late_ns = sample.monotonic_ns.subtractingSaturating(last.monotonic_ns.addingSaturating(heartbeat_ns))
        let stepped_ns = wallStep_ns(sample)
        let wasSuspended = suspended_ns >= bound_ns
        let wasLate = late_ns >= bound_ns
        guard wasSuspended || wasLate || stepped_ns > 0 else { return nil }
        if wasSuspended { toldSuspended_ns = sample.suspended_ns }
        let counted_ns = (suspended: wasSuspended ? suspended_ns : 0, late: wasLate ? late_ns : 0)
        return SuspensionMonitor.Absence(
            cause: wasSuspended
                ? .systemSuspended
                : stepped_ns > counted_ns.late
                    ? .wallClockStepped : wasBusy(sample, late_ns) ? .overloaded : .processStopped,
            duration: .nanoseconds(counted_ns.suspended) + .nanoseconds(counted_ns.late) + .nanoseconds(stepped_ns),
            uncertainty: wasLate ? .nanoseconds(heartbeat_ns) : .zero,
            suspended: .nanoseconds(counted_ns.suspended),
            wallClockStep: .nanoseconds(stepped_ns),
            noticedAt: MonotonicInstant(nanoseconds: sample.monotonic_ns)
        )
    }

    /// Returns how far the wall clock was set ahead of the other clocks since the last sample; 0 for less than the bound.
    private func wallStep_ns(_ sample: PresenceSample) -> Int64 {
        guard let now_ns = sample.wallAhead_ns, let before_ns = last.wallAhead_ns else { return 0 }
        let step_ns = now_ns.subtractingSaturating(before_ns)
        let passed_ns = max(0, sample.monotonic_ns.subtractingSaturating(last.monotonic_ns))
        // The kernel slews by 500 ppm at most, adjtimex(2).
        return step_ns >= bound_ns.addingSaturating(passed_ns / 1000) ? step_ns : 0
    }

    private func wasBusy(_ sample: PresenceSample, _ late_ns: Int64) -> Bool {
        if let before_ns = last.waited_ns, let now_ns = sample.waited_ns {
            if now_ns.subtractingSaturating(before_ns) >= late_ns / 2 { return true }
        }
        let most_ns = heartbeat_ns.multipliedReportingOverflow(by: processors)
        return !most_ns.overflow && sample.used_ns.subtractingSaturating(last.used_ns) > most_ns.partialValue
    }
}
#endif
