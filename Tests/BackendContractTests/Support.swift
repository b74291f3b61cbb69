// SPDX-License-Identifier: Apache-2.0
import CHRTimer
import Glibc
import HRTimer

/// Whether loops wait in libevent: the package's trait.
#if Libevent
let hasLibevent = true
#else
let hasLibevent = false
#endif

func join(_ thread: pthread_t) {
    pthread_join(thread, nil)
}

/// Returns when the condition holds. Throws ETIMEDOUT if it does not within 30 s.
func until(_ condition: @MainActor () -> Bool) async throws {
    try await until(1) { condition() ? 1 : 0 }
}

/// Returns when so many were counted, however long a busy machine takes for that. Throws ETIMEDOUT if 30 s pass in which none
/// was.
func until(_ enough: Int, _ counted: @MainActor () -> Int) async throws {
    var (count, limit) = (await counted(), MonotonicInstant.now + .seconds(30))
    while count < enough {
        try await Task.sleep(for: .milliseconds(1))
        let now = await counted()
        if now > count {
            limit = .now + .seconds(30)
        } else if .now > limit {
            throw TimerError(operation: "see it happen", errorNumber: ETIMEDOUT)
        }
        count = now
    }
}

extension SpinWindow {
    /// Teaches the window that wakes come 12 ms late, after sleeps of any length. The budget must be its own, and a whole core:
    /// then the next wait spins for about as long.
    func learnThatWakesAreLate() {
        hrt_spin_window_init(c, Self.defaultCoverage, c.pointee.budget)
        for sleep_ns: Int64 in [100_000, 1_000_000, 10_000_000, 100_000_000] {
            for _ in 0..<200 { hrt_spin_window_record_wake(c, sleep_ns, 12_000_000) }
        }
    }
}
