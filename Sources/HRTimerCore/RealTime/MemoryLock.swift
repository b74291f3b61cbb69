#if os(Linux)
import HRTimerLibc

/// Keeps the process's pages in memory as long as one instance exists.
enum MemoryLock {
    /// Releases the lock when the last reference goes.
    final class Hold: Sendable {
        fileprivate init() {}

        deinit { MemoryLock.letGo() }
    }

    private struct State: Sendable {
        var holds = 0
        /// False if the process had locked its memory itself: then it stays locked.
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
                    throw TimerError(operation: "lock the process's memory (locksMemory)", errorNumber: errno)
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

    /// VmLck of proc_pid_status(5).
    private static var hasLockedMemory: Bool {
        guard let file = fopen("/proc/self/status", "re") else { return false }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, 256, file) != nil {
            if strncmp(line, "VmLck:", 6) == 0 {
                return strtol(Array(line.dropFirst(6)), nil, 10) > 0
            }
        }
        return false
    }
}
#endif
