#if os(Linux)
import HRTimer

/// A clock that records its sleeps, and otherwise is the clock that it wraps.
///
///     let clock = RecordingClock(ImmediateClock())
///     try await retry(times: 3, clock: clock) { … }
///     #expect(clock.sleeps.map(\.duration) == [.seconds(1), .seconds(2), .seconds(4)])
public struct RecordingClock<Base: Clock>: Clock {
    /// An instant of the wrapped clock.
    public typealias Instant = Base.Instant
    /// A duration of the wrapped clock.
    public typealias Duration = Base.Duration

    /// One call of `sleep`.
    public struct Sleep: Sendable {
        /// The clock's reading at the call.
        public let begin: Instant
        /// The requested deadline.
        public let deadline: Instant
        /// The requested tolerance.
        public let tolerance: Duration?
        /// From `begin` to `deadline`; negative for a past deadline.
        public var duration: Duration { begin.duration(to: deadline) }
    }

    private final class Record: Sendable {
        let sleeps = Locked<[Sleep]>([])
    }

    /// The wrapped clock.
    public let base: Base
    private let record = Record()

    /// A clock that sleeps as `base` does. Copies share one record.
    public init(_ base: Base) {
        self.base = base
    }

    /// All sleeps so far, in the order of the calls, including those that are not over or were cancelled.
    public var sleeps: [Sleep] { record.sleeps.withLock { $0 } }

    /// Forgets all recorded sleeps.
    package func removeAll() {
        record.sleeps.withLock { $0 = [] }
    }

    /// The wrapped clock's reading.
    public var now: Instant { base.now }

    /// The minimum resolution of the wrapped clock.
    public var minimumResolution: Duration { base.minimumResolution }

    /// Records the call, and sleeps on the wrapped clock.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let sleep = Sleep(begin: base.now, deadline: deadline, tolerance: tolerance)
        record.sleeps.withLock { $0.append(sleep) }
        try await base.sleep(until: deadline, tolerance: tolerance)
    }
}
#endif
