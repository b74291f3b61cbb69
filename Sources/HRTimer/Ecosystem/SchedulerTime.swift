// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
#if OpenCombine
public import HRTimerCore
public import OpenCombine

/// The time of this package's schedulers for OpenCombine: an instant of the monotonic clock.
///
///     let scheduler = engine.ocombine
///     scheduler.schedule(after: scheduler.now.advanced(by: .seconds(1))) { … }
///
/// Only with the package's trait `OpenCombine`.
public struct SchedulerTime: Strideable, Hashable, Sendable {
    /// The instant.
    public var instant: MonotonicInstant

    /// Creates the time of that instant.
    public init(_ instant: MonotonicInstant) {
        self.instant = instant
    }

    /// Returns the time from this instant to another one.
    public func distance(to other: SchedulerTime) -> Stride { Stride(instant.duration(to: other.instant)) }

    /// Returns the time that is later by `stride`, rounded up to a nanosecond; saturates.
    public func advanced(by stride: Stride) -> SchedulerTime { SchedulerTime(instant.advanced(by: stride.duration)) }

    /// Returns whether the left time is earlier.
    public static func < (left: SchedulerTime, right: SchedulerTime) -> Bool { left.instant < right.instant }

    /// A length of time, exact to an attosecond, up to 5 * 10^12 years; a longer one saturates there.
    ///
    /// As a number it counts seconds: the literal 5 is five seconds, and a product is that of the seconds.
    public struct Stride: SchedulerTimeIntervalConvertible, SignedNumeric, Comparable, ExpressibleByFloatLiteral,
        Hashable, Sendable
    {
        /// The length as a duration.
        public var duration: Duration

        /// Creates a stride of that duration.
        public init(_ duration: Duration) {
            self.duration = duration
        }

        /// Creates a stride of so many seconds.
        public init(integerLiteral seconds: Int) { self = .seconds(seconds) }

        /// Creates a stride of so many seconds; NaN counts as zero.
        public init(floatLiteral seconds: Double) { self = .seconds(seconds) }

        /// Creates a stride of so many seconds; nil if there are too many.
        public init?<Source: BinaryInteger>(exactly seconds: Source) {
            guard let seconds = Int64(exactly: seconds) else { return nil }
            self.init(.seconds(seconds))
        }

        /// The length without its sign.
        public var magnitude: Stride { Stride(attoseconds: Int128(clamping: duration.attoseconds.magnitude)) }

        /// Returns a stride of so many seconds.
        public static func seconds(_ seconds: Int) -> Stride { Stride(.seconds(seconds)) }

        /// Returns a stride of so many seconds; NaN counts as zero.
        public static func seconds(_ seconds: Double) -> Stride { Stride(seconds.asDuration ?? .zero) }

        /// Returns a stride of so many milliseconds.
        public static func milliseconds(_ milliseconds: Int) -> Stride { Stride(.milliseconds(milliseconds)) }

        /// Returns a stride of so many microseconds.
        public static func microseconds(_ microseconds: Int) -> Stride { Stride(.microseconds(microseconds)) }

        /// Returns a stride of so many nanoseconds.
        public static func nanoseconds(_ nanoseconds: Int) -> Stride { Stride(.nanoseconds(nanoseconds)) }

        /// Returns whether the left stride is shorter, or more negative.
        public static func < (left: Stride, right: Stride) -> Bool { left.duration < right.duration }

        /// Returns the sum; saturates.
        public static func + (left: Stride, right: Stride) -> Stride {
            let (sum, overflow) = left.duration.attoseconds.addingReportingOverflow(right.duration.attoseconds)
            return Stride(attoseconds: overflow ? left.limit : sum)
        }

        /// Returns the difference; saturates.
        public static func - (left: Stride, right: Stride) -> Stride {
            let (rest, overflow) = left.duration.attoseconds.subtractingReportingOverflow(right.duration.attoseconds)
            return Stride(attoseconds: overflow ? left.limit : rest)
        }

        /// Returns the product of the two numbers of seconds; saturates.
        public static func * (left: Stride, right: Stride) -> Stride {
            let product = left.duration.attoseconds.multipliedFullWidth(by: right.duration.attoseconds)
            let second: Int128 = 1_000_000_000_000_000_000
            // The quotient fits if the high half of the product is less than half of `second`.
            if product.high >= second / 2 { return Stride(attoseconds: .max) }
            if product.high < -second / 2 { return Stride(attoseconds: .min) }
            return Stride(attoseconds: second.dividingFullWidth(product).quotient)
        }

        /// Adds in place, as `+` does.
        public static func += (left: inout Stride, right: Stride) { left = left + right }

        /// Subtracts in place, as `-` does.
        public static func -= (left: inout Stride, right: Stride) { left = left - right }

        /// Multiplies in place, as `*` does.
        public static func *= (left: inout Stride, right: Stride) { left = left * right }

        private init(attoseconds: Int128) {
            self.init(Duration(attoseconds: attoseconds))
        }

        private var limit: Int128 { duration < .zero ? .min : .max }
    }
}
#endif
#endif
