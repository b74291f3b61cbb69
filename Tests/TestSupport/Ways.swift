public import HRTimerCore

extension WayToWait {
    /// The ways to wait that work here. A filter of system calls may rule one out.
    public static var available: [WayToWait] { available(on: .monotonic) }

    /// Returns the ways to wait that work on `clock`.
    public static func available(on clock: TimerClock) -> [WayToWait] {
        allCases.filter { (try? Waiter($0, clock: clock)) != nil }
    }
}

/// A way to wait and a clock to wait on.
public struct WayOnClock: Sendable, Hashable, CustomStringConvertible {
    /// The way to wait.
    public let way: WayToWait
    /// The clock to wait on.
    public let clock: TimerClock

    /// Every pair that works here.
    public static var available: [WayOnClock] {
        TimerClock.allCases.flatMap { clock in
            WayToWait.available(on: clock).map { WayOnClock(way: $0, clock: clock) }
        }
    }

    /// The names of the way and of the clock.
    public var description: String { "\(way) on \(clock)" }
}
