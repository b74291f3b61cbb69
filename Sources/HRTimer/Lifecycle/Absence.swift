// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
package import HRTimerCore

extension SuspensionMonitor {
    /// A time in which the process could not run.
    public struct Absence: Sendable, Hashable {
        /// Why the process could not run, as far as a process can tell.
        public enum Cause: Sendable, Hashable {
            /// The system slept: `CLOCK_BOOTTIME` went on while `CLOCK_MONOTONIC` stood still.
            ///
            /// This cause is certain.
            case systemSuspended
            /// The monitor's thread neither ran nor waited for a processor.
            ///
            /// Possible reasons are SIGSTOP, SIGTSTP, a debugger, the freezer of the process's cgroup, and a virtual machine
            /// whose processors the host took away, or which was restored from a snapshot with both clocks ahead by the time
            /// that had passed. They cannot be told apart. Hosts often take processors away for some milliseconds.
            case processStopped
            /// The monitor's thread was ready to run and got no processor, or other threads of the process ran
            /// meanwhile: the machine was busy, and the process was not away.
            case overloaded
            /// The wall clock was set ahead while the other clocks went on as usual.
            ///
            /// Either a virtual machine was frozen, or restored from a snapshot, together with its monotonic clock, and its
            /// wall clock was corrected afterwards; or somebody set the clock. They cannot be told apart. Timers on the
            /// monotonic clocks notice nothing of it.
            case wallClockStepped
        }

        /// The cause of all or most of the absence.
        public let cause: Cause
        /// How long the process was away, by `CLOCK_BOOTTIME` and by how far the wall clock was set ahead: at least this
        /// long, and at most `uncertainty` longer.
        public let duration: Duration
        /// By how much the absence may have begun earlier: its begin is only known to be after the last heartbeat.
        ///
        /// Zero for a suspended system, whose clocks are exact.
        public let uncertainty: Duration
        /// The part of the absence that `CLOCK_MONOTONIC` does not count, since the system was suspended.
        public let suspended: Duration
        /// The part that only the wall clock counts. Zero where that clock was set back, or ahead by less than half a
        /// threshold.
        package let wallClockStep: Duration
        /// When the monitor noticed.
        package let noticedAt: MonotonicInstant
    }
}
#endif
