// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimer

/// A clock whose sleeps take no time: each moves the clock to its deadline and returns.
///
/// For tests in which the sleeps between steps do not matter. Sleeps of several tasks do not wait for each other;
/// `withManualTime` does that. Any thread.
///
///     let clock = ImmediateClock()
///     try await retry(times: 5, clock: clock) { … }
///     #expect(clock.sleeps == [.seconds(1), .seconds(2), .seconds(4), .seconds(8)])
public final class ImmediateClock: Clock, Sendable {
    /// A point on the monotonic clock.
    public typealias Instant = MonotonicInstant
    /// Swift's own duration.
    public typealias Duration = Swift.Duration

    /// The first reading.
    public let start: MonotonicInstant
    private let state: Locked<(reading: MonotonicInstant, sleeps: [Duration])>

    /// A clock that reads `start`, by default ten seconds after zero.
    public init(start: MonotonicInstant = MonotonicInstant(nanoseconds: 10_000_000_000)) {
        self.start = start
        state = Locked((start, []))
    }

    /// The clock's reading: the latest deadline that was slept for.
    public var now: MonotonicInstant { state.withLock { $0.reading } }

    /// How long each sleep so far was to take, in the order of the calls, those that were cancelled included; negative for a
    /// past deadline.
    public var sleeps: [Duration] { state.withLock { $0.sleeps } }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Returns when other tasks had a chance to run.
    ///
    /// The clock then reads `deadline`, or its former reading if that is later. Throws `CancellationError` if the task is
    /// cancelled; a sleep until `distantFuture` ends no other way.
    public func sleep(until deadline: MonotonicInstant, tolerance: Duration? = nil) async throws {
        state.withLock { $0.sleeps.append($0.reading.duration(to: deadline)) }
        try Task.checkCancellation()
        if deadline == .distantFuture { return try await sleepUntilCancelled() }
        state.withLock { $0.reading = max($0.reading, deadline) }
        await Task.yield()
        try Task.checkCancellation()
    }

    private func sleepUntilCancelled() async throws {
        let (never, end) = AsyncStream.makeStream(of: Never.self)
        defer { end.finish() }
        // The stream ends when its task is cancelled.
        for await _ in never {}
        try Task.checkCancellation()
    }
}
#endif
