#if os(Linux)
import HRTimer

/// A clock that records what was slept for, and otherwise is the clock that it is made of.
///
///     let clock = RecordingClock(ImmediateClock())
///     try await retry(times: 3, clock: clock) { … }
///     #expect(clock.sleeps.map(\.duration) == [.seconds(1), .seconds(2), .seconds(4)])
public struct RecordingClock<Base: Clock>: Clock {
    /// An instant of the clock that it is made of.
    public typealias Instant = Base.Instant
    /// A duration of the clock that it is made of.
    public typealias Duration = Base.Duration

    /// One call of `sleep`.
    public struct Sleep: Sendable {
        /// What the clock read then.
        public let begin: Instant
        /// What was asked for.
        public let deadline: Instant
        /// What was asked for.
        public let tolerance: Duration?
        /// From the one to the other; negative for a past deadline.
        public var duration: Duration { begin.duration(to: deadline) }
    }

    private final class Record: Sendable {
        let sleeps = Locked<[Sleep]>([])
    }

    /// The clock that it is made of.
    public let base: Base
    private let record = Record()

    /// A clock that sleeps as `base` does. Copies have one record.
    public init(_ base: Base) {
        self.base = base
    }

    /// What was slept for so far, in the order of the calls; those that are not over, or were cancelled, among them.
    public var sleeps: [Sleep] { record.sleeps.withLock { $0 } }

    /// Forgets what was slept for.
    public func removeAll() {
        record.sleeps.withLock { $0 = [] }
    }

    /// What the clock reads.
    public var now: Instant { base.now }

    /// That of the clock that it is made of.
    public var minimumResolution: Duration { base.minimumResolution }

    /// Writes the call down, and sleeps.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let sleep = Sleep(begin: base.now, deadline: deadline, tolerance: tolerance)
        record.sleeps.withLock { $0.append(sleep) }
        try await base.sleep(until: deadline, tolerance: tolerance)
    }
}
#endif
