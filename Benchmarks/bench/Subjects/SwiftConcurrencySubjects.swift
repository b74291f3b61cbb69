import CBench

extension Subject {
    /// What the concurrency runtime offers. Sleeps are on `SuspendingClock`: on Linux that is `CLOCK_MONOTONIC`, the
    /// clock of the stamps.
    static let swiftConcurrency: [Subject] = [
        Subject("swift.task-sleep", "Task.sleep(until:) on SuspendingClock, default tolerance") { recorder in
            let sleeper = Task.detached {
                let zero = SuspendingClock.Instant.monotonicZero
                _ = recorder.begin()
                var woke_ns: Int64
                repeat {
                    let deadline = zero.advanced(by: .nanoseconds(recorder.nextDeadline_ns))
                    try await Task.sleep(until: deadline, clock: .suspending)
                    woke_ns = cbench_now_ns()
                } while recorder.fire(woke_ns)
            }
            defer { sleeper.cancel() }
            try recorder.waitUntilFull()
        }
    ]
}

extension SuspendingClock.Instant {
    /// Where `CLOCK_MONOTONIC` reads 0; later than that by at most the time between two clock readings, so that what is
    /// on time is never called early.
    fileprivate static var monotonicZero: SuspendingClock.Instant {
        let before_ns = cbench_now_ns()
        return SuspendingClock.now.advanced(by: .nanoseconds(-before_ns))
    }
}
