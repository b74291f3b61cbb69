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
