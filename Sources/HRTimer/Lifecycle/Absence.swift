#if os(Linux)
public import HRTimerCore

extension SuspensionMonitor {
    /// A time in which the process could not run.
    public struct Absence: Sendable, Hashable {
        /// Why the process could not run, as far as a process can tell.
        public enum Cause: Sendable, Hashable {
            /// The system slept: `CLOCK_BOOTTIME` went on while `CLOCK_MONOTONIC` stood still. Certain.
            case systemSuspended
            /// The monitor's thread neither ran nor waited for a processor: SIGSTOP, SIGTSTP, a debugger, the freezer
            /// of its cgroup, or a virtual machine whose processors the host took away, or which was restored from a snapshot
            /// with both clocks ahead by what had passed. They cannot be told apart; processors are often taken away for some
            /// milliseconds.
            case processStopped
            /// The monitor's thread was ready to run and got no processor, or other threads of the process ran
            /// meanwhile: the machine was busy, and the process was not away.
            case overloaded
            /// The wall clock was set ahead while the other clocks went on as ever: a virtual machine that was frozen, or
            /// restored from a snapshot, with its monotonic clock, and whose wall clock was corrected since; or somebody just set
            /// the clock. They cannot be told apart. Timers on the monotonic clocks notice nothing of it.
            case wallClockStepped
        }

        /// The cause of all or most of the absence.
        public let cause: Cause
        /// How long it was away, by `CLOCK_BOOTTIME` and what the wall clock was set ahead: at least this long, and at most `uncertainty` longer.
        public let duration: Duration
        /// By how much the absence may have begun earlier, since its begin is only known to be after the last
        /// heartbeat. Zero for a suspended system, whose clocks are exact.
        public let uncertainty: Duration
        /// The part that `CLOCK_MONOTONIC` does not count, since the system was suspended.
        public let suspended: Duration
        /// The part that only the wall clock counts. Zero where it was set back, or ahead by less than half a threshold.
        public let wallClockStep: Duration
        /// When the monitor noticed.
        public let noticedAt: MonotonicInstant
    }
}
#endif
