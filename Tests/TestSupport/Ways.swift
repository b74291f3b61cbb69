public import HRTimerCore

extension ParkStrategy {
    /// The park strategies that work here. A filter of system calls may rule one out.
    public static var available: [ParkStrategy] { available(on: .monotonic) }

    /// Returns the park strategies that work on `clock`.
    public static func available(on clock: TimerClock) -> [ParkStrategy] {
        allCases.filter { (try? Waiter($0, clock: clock)) != nil }
    }
}

/// A park strategy and a clock to wait on.
public struct WayOnClock: Sendable, Hashable, CustomStringConvertible {
    /// The park strategy.
    public let way: ParkStrategy
    /// The clock to wait on.
    public let clock: TimerClock

    /// Every pair that works here.
    public static var available: [WayOnClock] {
        TimerClock.allCases.flatMap { clock in
            ParkStrategy.available(on: clock).map { WayOnClock(way: $0, clock: clock) }
        }
    }

    /// The names of the way and of the clock.
    public var description: String { "\(way) on \(clock)" }
}
