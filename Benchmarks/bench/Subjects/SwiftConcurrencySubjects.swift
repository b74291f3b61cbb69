import CBench

extension Subject {
    /// What the concurrency runtime offers. Sleeps are on `SuspendingClock`: on Linux that is `CLOCK_MONOTONIC`, the
    /// clock of the stamps.
    static let swiftConcurrency: [Subject] = [
        Subject("swift.task-sleep", "Task.sleep(until:) on SuspendingClock, default tolerance") {
            try measureTaskSleep($0, tolerance: nil)
        },
        Subject("swift.task-sleep-zero-tolerance", "the same with tolerance: .zero") {
            try measureTaskSleep($0, tolerance: .zero)
        },
    ]

    private static func measureTaskSleep(_ recorder: BlockRecorder, tolerance: Duration?) throws {
        let sleeper = Task.detached { try await sleepOnAndOn(recorder, tolerance) }
        defer { sleeper.cancel() }
        try recorder.waitUntilFull()
    }

    /// Fills the block by `Task.sleep`, whichever executor fires it.
    static func sleepOnAndOn(_ recorder: BlockRecorder, _ tolerance: Duration?) async throws {
        let zero = SuspendingClock.Instant.monotonicZero
        _ = recorder.begin()
        var woke_ns: Int64
        repeat {
            let deadline = zero.advanced(by: .nanoseconds(recorder.nextDeadline_ns))
            try await Task.sleep(until: deadline, tolerance: tolerance, clock: .suspending)
            woke_ns = cbench_now_ns()
        } while recorder.fire(woke_ns)
    }
}

extension SuspendingClock.Instant {
    /// Where `CLOCK_MONOTONIC` reads 0; later than that by at most the time between two clock readings, so that what is
    /// on time is never called early.
    static var monotonicZero: SuspendingClock.Instant {
        let before_ns = cbench_now_ns()
        return SuspendingClock.now.advanced(by: .nanoseconds(-before_ns))
    }
}
