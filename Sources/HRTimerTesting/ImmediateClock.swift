#if os(Linux)
public import HRTimer

/// A clock whose sleeps take no time: each moves the clock to its deadline and returns. For tests in which the sleeps between
/// steps do not matter. Sleeps of several tasks do not wait for each other; `withManualTime` does that. Any thread.
///
///     let clock = ImmediateClock()
///     try await retry(times: 5, clock: clock) { … }
///     #expect(clock.now == clock.start.advanced(by: .seconds(31)))
public final class ImmediateClock: Clock, Sendable {
    /// A point on the monotonic clock.
    public typealias Instant = MonotonicInstant
    /// Swift's own duration.
    public typealias Duration = Swift.Duration

    /// The first reading.
    public let start: MonotonicInstant
    private let reading: Locked<MonotonicInstant>

    /// A clock that reads `start`, by default ten seconds after zero.
    public init(start: MonotonicInstant = MonotonicInstant(nanoseconds: 10_000_000_000)) {
        self.start = start
        reading = Locked(start)
    }

    /// The clock's reading: the latest deadline that was slept for.
    public var now: MonotonicInstant { reading.withLock { $0 } }

    /// One nanosecond.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Returns when other tasks had a chance to run. The clock then reads `deadline`, or its former reading if that is later.
    /// Throws `CancellationError` if the task is cancelled; a sleep until `distantFuture` ends no other way.
    public func sleep(until deadline: MonotonicInstant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        if deadline == .distantFuture { return try await sleepUntilCancelled() }
        reading.withLock { $0 = max($0, deadline) }
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
