public import HRTimerCore

extension WayToWait {
    /// Those that work here: a filter of system calls may rule one out.
    public static var available: [WayToWait] { available(on: .monotonic) }

    /// Those that work on `clock`.
    public static func available(on clock: TimerClock) -> [WayToWait] {
        allCases.filter { (try? Waiter($0, clock: clock)) != nil }
    }
}

/// A way to wait and a clock to wait on.
public struct WayOnClock: Sendable, Hashable, CustomStringConvertible {
    /// How.
    public let way: WayToWait
    /// On which clock.
    public let clock: TimerClock

    /// Every pair that works here.
    public static var available: [WayOnClock] {
        TimerClock.allCases.flatMap { clock in
            WayToWait.available(on: clock).map { WayOnClock(way: $0, clock: clock) }
        }
    }

    /// Both names.
    public var description: String { "\(way) on \(clock)" }
}
