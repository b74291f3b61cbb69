// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
package import CHRTimer

/// The clock of a deadline.
///
/// Each clock has its own type of instants, so that instants of different clocks cannot be mixed up.
public enum TimerClock: Sendable, Hashable, CaseIterable {
    /// `CLOCK_MONOTONIC`: never set, stands still while the system is suspended.
    ///
    /// Instants: `MonotonicInstant`.
    case monotonic
    /// `CLOCK_BOOTTIME`: never set, goes on while the system is suspended.
    ///
    /// Instants: `BootTimeInstant`.
    case bootTime
    /// `CLOCK_REALTIME`: the time of day, which may be set forward and back.
    ///
    /// Instants: `WallInstant`.
    case wall

    package var c: hrt_clock {
        switch self {
        case .monotonic: HRT_CLOCK_MONOTONIC
        case .bootTime: HRT_CLOCK_BOOT
        case .wall: HRT_CLOCK_WALL
        }
    }
}
#endif
