// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A point on the boot-time clock, in whole nanoseconds: Linux's `CLOCK_BOOTTIME`.
///
/// The clock counts from the boot of the system, is never set, and goes on while the system is suspended. A timer on it
/// does not wake a suspended system unless `RealTimeSettings.wakesSystem` is set: if its deadline passes meanwhile, it
/// fires as soon as the system runs again.
public struct BootTimeInstant: TimerInstant {
    /// `CLOCK_BOOTTIME`.
    public static var clock: TimerClock { .bootTime }

    /// Nanoseconds since the boot.
    public let nanoseconds: Int64

    /// Creates the instant `nanoseconds` after the boot.
    ///
    /// A negative one is always past.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Returns `instant.advanced(by: duration)`.
    ///
    /// Each instant type declares this operator itself, since the compiler finds it for `sleep(until: .now + duration, clock:)`
    /// only here.
    public static func + (instant: Self, duration: Duration) -> Self { instant.advanced(by: duration) }
}
#endif
