public import HRTimerCore

extension SuspensionMonitor {
    /// A time in which the process could not run.
    public struct Absence: Sendable, Hashable {
        /// Why the process could not run, as far as a process can tell.
        public enum Cause: Sendable, Hashable {
            /// The system slept: `CLOCK_BOOTTIME` went on while `CLOCK_MONOTONIC` stood still. Certain.
            case systemSuspended
            /// The monitor's thread neither ran nor waited for a processor: SIGSTOP, SIGTSTP, a debugger, the freezer
            /// of its cgroup, or a virtual machine whose processors the host took away. They cannot be told apart; the
            /// last is common where thresholds are a few milliseconds.
            case processStopped
            /// The monitor's thread was ready to run and got no processor, or other threads of the process ran
            /// meanwhile: the machine was busy, and the process was not away.
            case overloaded
        }

        /// The cause of all or most of the absence.
        public let cause: Cause
        /// How long it was away, by `CLOCK_BOOTTIME`: at least this long, and at most `uncertainty` longer.
        public let duration: Duration
        /// By how much the absence may have begun earlier, since its begin is only known to be after the last
        /// heartbeat. Zero for a suspended system, whose clocks are exact.
        public let uncertainty: Duration
        /// The part that `CLOCK_MONOTONIC` does not count, since the system was suspended.
        public let suspended: Duration
        /// When the monitor noticed.
        public let noticedAt: MonotonicInstant
    }
}
