#if os(Linux)
package import CHRTimer

/// The clock of a deadline. Each has its own type of instants, so that they cannot be mixed up.
public enum TimerClock: Sendable, Hashable, CaseIterable {
    /// `CLOCK_MONOTONIC`: never set, stands still while the system is suspended. `MonotonicInstant`.
    case monotonic
    /// `CLOCK_BOOTTIME`: never set, goes on while the system is suspended. `BootTimeInstant`.
    case bootTime
    /// `CLOCK_REALTIME`: the time of day, which may be set forward and back. `WallInstant`.
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
