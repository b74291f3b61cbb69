#if os(Linux)
/// A point on the boot-time clock, in whole nanoseconds: Linux's `CLOCK_BOOTTIME`.
///
/// The clock counts from the boot of the system, is never set, and goes on while the system is suspended. A timer on it
/// does not wake a suspended system: if its deadline passes meanwhile, it fires as soon as the system runs again.
public struct BootTimeInstant: TimerInstant {
    /// `CLOCK_BOOTTIME`.
    public static var clock: TimerClock { .bootTime }

    /// Nanoseconds since the boot.
    public let nanoseconds: Int64

    /// The instant `nanoseconds` after the boot; negative ones are always past.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// As `advanced(by:)`. Declared for each instant type, since `sleep(until: .now + duration, clock:)` finds it only
    /// here.
    public static func + (instant: Self, duration: Duration) -> Self { instant.advanced(by: duration) }
}
#endif
