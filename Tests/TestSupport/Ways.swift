// SPDX-License-Identifier: Apache-2.0
package import HRTimerCore

extension ParkStrategy {
    /// The park strategies that work here. A filter of system calls may rule one out.
    package static var available: [ParkStrategy] { available(on: .monotonic) }

    /// Returns the park strategies that work on `clock`.
    package static func available(on clock: TimerClock) -> [ParkStrategy] {
        allCases.filter { (try? Waiter($0, clock: clock)) != nil }
    }
}

/// A park strategy and a clock to wait on.
package struct WayOnClock: Sendable, Hashable, CustomStringConvertible {
    /// The park strategy.
    package let way: ParkStrategy
    /// The clock to wait on.
    package let clock: TimerClock

    /// Every pair that works here.
    package static var available: [WayOnClock] {
        TimerClock.allCases.flatMap { clock in
            ParkStrategy.available(on: clock).map { WayOnClock(way: $0, clock: clock) }
        }
    }

    /// The names of the way and of the clock.
    package var description: String { "\(way) on \(clock)" }
}
