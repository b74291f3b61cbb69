// SPDX-License-Identifier: Apache-2.0
import CBench

extension Subject {
    /// The sleeps of the concurrency runtime. They are on `SuspendingClock`, which on Linux is `CLOCK_MONOTONIC`, the clock
    /// of the time stamps, if their description does not say otherwise.
    static let swiftConcurrency: [Subject] = [
        Subject("swift.task-sleep", "Task.sleep(until:) on SuspendingClock, default tolerance") {
            try $0.fill(sleeping: taskSleep(tolerance: nil))
        },
        Subject("swift.task-sleep-zero-tolerance", "the same with tolerance: .zero") {
            try $0.fill(sleeping: taskSleep(tolerance: .zero))
        },
        Subject(
            "swift.task-sleep-for",
            "Task.sleep(for:) on its own ContinuousClock: what remains until each deadline, as most programs have it",
            isDefault: false
        ) {
            try $0.fill(sleeping: { try await Task.sleep(for: .nanoseconds(max(0, $0 - cbench_now_ns()))) })
        },
        Subject(
            "swift.timerfd-executor",
            "Task.sleep(until:)'s work done by one thread with a heap and a timerfd, as executors of platforms have it",
            isDefault: false
        ) {
            let sleeper = try TimerFDSleeper()
            defer { sleeper.stop() }
            try $0.fill(byTaskOn: sleeper) { await sleeper.sleep(until_ns: $0) }
        },
    ]

    /// `Task.sleep`, on any executor.
    static func taskSleep(tolerance: Duration?) -> @Sendable (_ until_ns: Int64) async throws -> Void {
        let zero = SuspendingClock.Instant.monotonicZero
        return { deadline_ns in
            let deadline = zero.advanced(by: .nanoseconds(deadline_ns))
            try await Task.sleep(until: deadline, tolerance: tolerance, clock: .suspending)
        }
    }
}

extension SuspendingClock.Instant {
    /// The instant at which `CLOCK_MONOTONIC` reads 0.
    static var monotonicZero: SuspendingClock.Instant {
        let (instant, now_ns) = readTogether { SuspendingClock.now }
        return instant.advanced(by: .nanoseconds(-now_ns))
    }
}
