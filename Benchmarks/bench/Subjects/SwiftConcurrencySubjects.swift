import CBench

extension Subject {
    /// The sleeps of the concurrency runtime. They are on `SuspendingClock`, which on Linux is `CLOCK_MONOTONIC`, the clock
    /// of the time stamps, if their description does not say otherwise.
    static let swiftConcurrency: [Subject] = [
        Subject("swift.task-sleep", "Task.sleep(until:) on SuspendingClock, default tolerance") {
            try measureTaskSleep($0, tolerance: nil)
        },
        Subject("swift.task-sleep-zero-tolerance", "the same with tolerance: .zero") {
            try measureTaskSleep($0, tolerance: .zero)
        },
        Subject(
            "swift.task-sleep-for",
            "Task.sleep(for:) on its own ContinuousClock: what remains until each deadline, as most programs have it",
            isDefault: false
        ) { recorder in
            let sleeper = Task.detached {
                _ = recorder.begin()
                var woke_ns: Int64
                repeat {
                    let remaining_ns = max(0, recorder.nextDeadline_ns - cbench_now_ns())
                    try await Task.sleep(for: .nanoseconds(remaining_ns))
                    woke_ns = cbench_now_ns()
                } while recorder.fire(woke_ns)
            }
            defer { sleeper.cancel() }
            try recorder.waitUntilFull()
        },
        Subject(
            "swift.timerfd-executor",
            "Task.sleep(until:)'s work done by one thread with a heap and a timerfd, as executors of platforms have it",
            isDefault: false
        ) { recorder in
            let sleeper = try TimerFDSleeper()
            defer { sleeper.stop() }
            let task = Task.detached(executorPreference: sleeper) {
                _ = recorder.begin()
                var woke_ns: Int64
                repeat {
                    await sleeper.sleep(until_ns: recorder.nextDeadline_ns)
                    woke_ns = cbench_now_ns()
                } while recorder.fire(woke_ns)
            }
            defer { task.cancel() }
            try recorder.waitUntilFull()
        },
    ]

    private static func measureTaskSleep(_ recorder: BlockRecorder, tolerance: Duration?) throws {
        let sleeper = Task.detached { try await sleepOnAndOn(recorder, tolerance) }
        defer { sleeper.cancel() }
        try recorder.waitUntilFull()
    }

    /// Fills the block by `Task.sleep`, on any executor.
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
    /// The instant at which `CLOCK_MONOTONIC` reads 0, from the reading with the least time between its clocks. Any error
    /// makes it later, so that a fire that is on time never looks early.
    static var monotonicZero: SuspendingClock.Instant {
        var best: (gap_ns: Int64, zero: SuspendingClock.Instant) = (.max, .now)
        for _ in 0..<16 {
            let before_ns = cbench_now_ns()
            let instant = SuspendingClock.now
            let gap_ns = cbench_now_ns() - before_ns
            if gap_ns < best.gap_ns { best = (gap_ns, instant.advanced(by: .nanoseconds(-before_ns))) }
        }
        return best.zero
    }
}
