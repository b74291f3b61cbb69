#if os(Linux)
/// A Swift `Clock` on one of the other two clocks, boot time and the wall clock: `BootTimeClock` or `WallClock`.
///
///     try await Task.sleep(until: .now.advanced(by: .seconds(3600)), clock: .bootTime)
///
/// It works like `MonotonicClock`, with another time. Boot time goes on while the system is suspended. So does the wall
/// clock, which may also be set: a step forward past the deadline wakes a sleeper at once, and a step back makes it sleep
/// longer.
public struct EngineClock<Instant: TimerInstant>: Clock {
    /// Swift's own duration.
    public typealias Duration = Swift.Duration

    private let engine: ClockTimerEngine<Instant>

    /// Creates a clock whose sleeps `engine` fires.
    public init(engine: ClockTimerEngine<Instant>) {
        self.engine = engine
    }

    /// The clock's present reading.
    public var now: Instant { engine.now }

    /// One nanosecond, the unit of the kernel's interface.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the task until the clock reads `deadline` or later; never shorter. See
    /// `MonotonicClock.sleep(until:tolerance:)`.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await Sleeper.sleep(on: host, Sleeper.Plan(until: deadline.nanoseconds, tolerance: tolerance))
        withExtendedLifetime(engine) {}
    }

    package var host: TimerHost { .engine(engine.core) }
    var time: TimeBase { engine.core.time }
}

/// The clock of boot time, which goes on while the system is suspended.
public typealias BootTimeClock = EngineClock<BootTimeInstant>

/// The clock of the time of day, which follows steps.
public typealias WallClock = EngineClock<WallInstant>

extension EngineClock<BootTimeInstant> {
    /// Creates a clock whose sleeps the shared engine fires.
    public init() { self.init(engine: .shared) }
}

extension EngineClock<WallInstant> {
    /// Creates a clock whose sleeps the shared engine fires.
    public init() { self.init(engine: .shared) }
}

extension Clock where Self == BootTimeClock {
    /// The boot-time clock of the shared engine.
    public static var bootTime: BootTimeClock { BootTimeClock() }
}

extension Clock where Self == WallClock {
    /// The wall clock of the shared engine.
    public static var wall: WallClock { WallClock() }
}
#endif
