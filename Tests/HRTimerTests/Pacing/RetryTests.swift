// SPDX-License-Identifier: Apache-2.0
import HRTimer
import HRTimerTesting
import TestSupport
import Testing

/// Tests of retries in virtual time, in which the begin of each attempt is exact.
@Suite struct RetryTests {
    private struct Failure: Error, Equatable { var number: Int }
    private struct Fatal: Error {}

    private final class Attempts: Sendable {
        let begun = Recorder<Duration>()
        private let start = MonotonicInstant.now

        /// Throws before the attempt number `success`; from then on returns the attempt's number.
        func next(succeedingAt success: Int = .max) throws -> Int {
            begun.append(start.duration(to: .now))
            if begun.count < success { throw Failure(number: begun.count) }
            return begun.count
        }

        var seconds: [Double] { begun.all.map { $0 / .seconds(1) } }
    }

    @Test("A retry waits between its attempts as the backoff says, and returns the first success")
    func waits() async throws {
        try await withManualTime { time in
            let attempts = Attempts()
            let retry = Retry(.exponential(initial: .seconds(1)))
            let result = try await retry.run { try attempts.next(succeedingAt: 5) }
            #expect(result == 5)
            #expect(attempts.seconds == [0, 1, 3, 7, 15])
            try time.checkNothingIsPending()
        }
    }

    @Test("The last attempt's error is thrown unchanged, without a call of the decide closure")
    func attempts() async throws {
        try await withManualTime { _ in
            let attempts = Attempts()
            let asked = Recorder<Int>()
            await #expect(throws: Failure(number: 3)) {
                try await Retry(.constant(.seconds(2)), attempts: 3).run {
                    try attempts.next()
                } decide: { error, attempt in
                    #expect(error as? Failure == Failure(number: attempt))
                    asked.append(attempt)
                    return .retry
                }
            }
            #expect(attempts.seconds == [0, 2, 4] && asked.all == [1, 2])
            let single = Attempts()
            await #expect(throws: Failure(number: 1)) {
                try await Retry(.constant(.seconds(2)), attempts: 0).run { try single.next() }
            }
        }
    }

    @Test("An error that may not be retried is thrown at once; by default a CancellationError is such an error")
    func decision() async throws {
        try await withManualTime { time in
            let start = time.now
            let attempts = Attempts()
            await #expect(throws: Fatal.self) {
                try await Retry(.constant(.seconds(1))).run {
                    _ = try? attempts.next()
                    if attempts.begun.count == 2 { throw Fatal() }
                    throw Failure(number: 0)
                } decide: { error, _ in
                    error is Fatal ? .fail : .retry
                }
            }
            #expect(attempts.seconds == [0, 1])
            await #expect(throws: CancellationError.self) {
                try await Retry(.constant(.seconds(1))).run { throw CancellationError() }
            }
            #expect(start.duration(to: time.now) == .seconds(1))
        }
    }

    @Test("A Retry-After makes the wait longer, never shorter")
    func retryAfter() async throws {
        try await withManualTime { _ in
            let attempts = Attempts()
            _ = try await Retry(.exponential(initial: .seconds(1))).run {
                try attempts.next(succeedingAt: 4)
            } decide: { _, attempt in
                attempt == 1 ? .retryAfter(.seconds(30)) : .retryAfter(.milliseconds(1))
            }
            #expect(attempts.seconds == [0, 30, 32, 36])
        }
    }

    @Test("A wait that would not end before the total time is not begun: TimedOut is thrown at once")
    func limit() async throws {
        try await withManualTime { time in
            let attempts = Attempts()
            let start = time.now
            do {
                _ = try await Retry(.exponential(initial: .seconds(1)), within: .seconds(10)).run {
                    try attempts.next()
                }
                Issue.record("it must throw")
            } catch let error as TimedOut {
                #expect(error.timeout == .seconds(10) && error.underlying as? Failure == Failure(number: 4))
            }
            #expect(attempts.seconds == [0, 1, 3, 7])
            #expect(start.duration(to: time.now) == .seconds(7))
            try time.checkNothingIsPending()
        }
    }

    /// When the attempts of a retry began, and when it ended, both counted from its begin.
    private struct Course: Equatable {
        var begun: [Duration]
        var end: Duration
    }

    /// Retries every two seconds, because of the backoff or because a server demands it, until the total time ends that.
    private func course(
        within limit: Duration,
        on clock: some Clock<Duration> & Identifiable,
        isDemanded: Bool = false
    ) async throws -> Course {
        let attempts = Attempts()
        let start = MonotonicInstant.now
        let error = await #expect(throws: TimedOut.self) {
            try await Retry(.constant(.seconds(isDemanded ? 1 : 2)), within: limit).run(clock: clock) {
                try attempts.next()
            } decide: { _, _ in
                isDemanded ? .retryAfter(.seconds(2)) : .retry
            }
        }
        #expect(error?.timeout == limit && error?.underlying as? Failure == Failure(number: attempts.begun.count))
        return Course(begun: attempts.begun.all, end: start.duration(to: .now))
    }

    @Test("A wait that would end exactly when the total time does is not begun; one that ends a nanosecond before is")
    func limitExactly() async throws {
        try await withManualTime { time in
            let (limit, nanosecond) = (Duration.seconds(10), Duration.nanoseconds(1))
            let five = (0..<5).map { Duration.seconds(2 * $0) }
            let exact = Course(begun: five, end: .seconds(8))
            let longer = Course(begun: five + [limit], end: limit)
            for isDemanded in [false, true] {
                let clock = MonotonicClock()
                #expect(try await course(within: limit, on: clock, isDemanded: isDemanded) == exact)
                #expect(try await course(within: limit + nanosecond, on: clock, isDemanded: isDemanded) == longer)
            }
            #expect(try await course(within: limit, on: BootTimeClock()) == exact)
            #expect(try await course(within: limit + nanosecond, on: BootTimeClock()) == longer)
            #expect(try await course(within: limit, on: WallClock()) == exact)
            #expect(try await course(within: limit + nanosecond, on: WallClock()) == longer)
            try time.checkNothingIsPending()
        }
    }

    @Test("The end of the total time cancels a running attempt; a result that it still returns counts")
    func limitInAttempt() async throws {
        try await withManualTime { time in
            let start = time.now
            do {
                _ = try await Retry(.constant(.seconds(1)), within: .seconds(10)).run {
                    try await Task.sleep(for: .seconds(60), clock: .monotonic)
                }
                Issue.record("it must throw")
            } catch let error as TimedOut {
                #expect(error.timeout == .seconds(10) && error.underlying is CancellationError)
            }
            #expect(start.duration(to: time.now) == .seconds(10))
            let late = try await Retry(.constant(.seconds(1)), within: .seconds(10)).run {
                try? await Task.sleep(for: .seconds(60), clock: .monotonic)
                return 7
            }
            #expect(late == 7 && !Task.isCancelled)
            #expect(start.duration(to: time.now) == .seconds(20))
            // An earlier deadline around the retry applies: it cancels a wait.
            await #expect(throws: CancellationError.self) {
                try await withDeadline(in: .seconds(2.5), clock: MonotonicClock()) {
                    let attempts = Attempts()
                    try await Retry(.constant(.seconds(1)), within: .seconds(10)).run {
                        try? await Task.sleep(for: .seconds(0.7), clock: .monotonic)
                        _ = try attempts.next()
                    }
                }
            }
            #expect(start.duration(to: time.now) == .seconds(22.5))
            try time.checkNothingIsPending()
        }
    }

    @Test("A retry throws a CancellationError when cancelled in a wait, and the attempt's error when in an attempt")
    func cancelled() async throws {
        try await withManualTime { time in
            let attempts = Attempts()
            let waiting = Task { try await Retry(.constant(.seconds(100))).run { try attempts.next() } }
            await time.advance(by: .seconds(1))
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            #expect(attempts.begun.count == 1)
            let trying = Task {
                try await Retry(.constant(.seconds(100))).run {
                    try? await Task.sleep(for: .seconds(50), clock: .monotonic)
                    throw Failure(number: 1)
                }
            }
            await time.advance(by: .seconds(1))
            trying.cancel()
            await #expect(throws: Failure(number: 1)) { try await trying.value }
            try time.checkNothingIsPending()
        }
    }

    @Test("Waits use the given clock: boot time goes on while the system is suspended")
    func clocks() async throws {
        try await withManualTime { time in
            let attempts = Attempts()
            let task = Task {
                try await Retry(.constant(.seconds(60)), within: .seconds(1000)).run(clock: .bootTime) {
                    try attempts.next(succeedingAt: 2)
                }
            }
            await time.runUntilIdle()
            await time.suspendSystem(for: .seconds(59))
            #expect(attempts.begun.count == 1)
            await time.advance(by: .seconds(1))
            let attempt = try await task.value
            #expect(attempt == 2)
            #expect(attempts.seconds == [0, 1])
        }
    }

    @Test("A thousand clients that failed together retry spread out with full jitter, and all at once without it")
    func thousand() async throws {
        func busiest(_ jitter: Backoff.Randomness) async throws -> Int {
            let seconds = Recorder<Int64>()
            try await withManualTime(seed: 5) { _ in
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<1000 {
                        group.addTask {
                            let retry = Retry(
                                .exponential(initial: .seconds(64), maximum: .seconds(64), jitter: jitter),
                                attempts: 2
                            )
                            _ = try? await retry.run {
                                seconds.append(MonotonicInstant.now.nanoseconds / 1_000_000_000)
                                throw Failure(number: 0)
                            }
                        }
                    }
                }
            }
            return Dictionary(grouping: seconds.all.dropFirst(1000)) { $0 }.values.map(\.count).max() ?? 0
        }
        #expect(try await busiest(.none) == 1000)
        #expect(try await busiest(.full) < 40)
    }
}
