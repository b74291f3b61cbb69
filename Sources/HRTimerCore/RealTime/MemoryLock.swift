// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerLibc

/// The lock that keeps the process's pages in memory as long as one `Hold` exists.
enum MemoryLock {
    /// A hold on the memory lock, which is released when the last hold goes.
    final class Hold: Sendable {
        fileprivate init() {}

        deinit { MemoryLock.letGo() }
    }

    private struct State: Sendable {
        var holds = 0
        /// Whether this library has locked the memory. If the process had done so itself, the memory stays locked.
        var isOurs = false
    }

    private static let state = Locked(State())

    static func hold() throws(TimerError) -> Hold {
        try state.withLock { state throws(TimerError) in
            if state.holds == 0 {
                state.isOurs = !hasLockedMemory
                // Locks pages as they are touched: the timer queue maps far more than it uses.
                let flags = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT
                if state.isOurs, mlockall(flags) != 0 {
                    throw SettingRequest(
                        operation: "lock the process's memory (locksMemory)",
                        rights: "CAP_IPC_LOCK or RLIMIT_MEMLOCK above all memory of the process"
                    ).refusal(errno)
                }
            }
            state.holds += 1
        }
        return Hold()
    }

    private static func letGo() {
        state.withLock { state in
            state.holds -= 1
            if state.holds == 0, state.isOurs { munlockall() }
        }
    }

    /// Whether the process has locked memory: VmLck of proc_pid_status(5).
    private static var hasLockedMemory: Bool {
        guard let file = unsafe fopen("/proc/self/status", "re") else { return false }
        defer { unsafe fclose(file) }
        // Safe: fgets(3) ends what it reads with a zero, within the size.
        var line = [CChar](repeating: 0, count: 256)
        while unsafe fgets(&line, 256, file) != nil {
            if unsafe strncmp(line, "VmLck:", 6) == 0 {
                return unsafe strtol(Array(line.dropFirst(6)), nil, 10) > 0
            }
        }
        return false
    }
}
#endif
