#if os(Linux)
#if OpenCombine
public import HRTimerCore
public import OpenCombine

/// The time of a scheduler of this package for OpenCombine: an instant of the monotonic clock.
///
///     let scheduler = engine.ocombine
///     scheduler.schedule(after: scheduler.now.advanced(by: .seconds(1))) { … }
///
/// With the package's trait `OpenCombine` alone.
public struct SchedulerTime: Strideable, Hashable, Sendable {
    /// The instant.
    public var instant: MonotonicInstant

    /// That instant.
    public init(_ instant: MonotonicInstant) {
        self.instant = instant
    }

    /// The time up to another one.
    public func distance(to other: SchedulerTime) -> Stride { Stride(instant.duration(to: other.instant)) }

    /// Rounded up to a nanosecond; saturates.
    public func advanced(by stride: Stride) -> SchedulerTime { SchedulerTime(instant.advanced(by: stride.duration)) }

    /// Which one is earlier.
    public static func < (left: SchedulerTime, right: SchedulerTime) -> Bool { left.instant < right.instant }

    /// A length of time, exact to an attosecond, in 5 * 10^12 years; what would be longer is so long.
    ///
    /// As a number it counts seconds: a literal of 5 is five seconds, and a product is that of the seconds.
    public struct Stride: SchedulerTimeIntervalConvertible, SignedNumeric, Comparable, ExpressibleByFloatLiteral,
        Hashable, Sendable
    {
        /// As a duration.
        public var duration: Duration

        /// That duration.
        public init(_ duration: Duration) {
            self.duration = duration
        }

        /// So many seconds.
        public init(integerLiteral seconds: Int) { self = .seconds(seconds) }

        /// So many seconds; NaN is none.
        public init(floatLiteral seconds: Double) { self = .seconds(seconds) }

        /// So many seconds; nil if there are too many.
        public init?<Source: BinaryInteger>(exactly seconds: Source) {
            guard let seconds = Int64(exactly: seconds) else { return nil }
            self.init(.seconds(seconds))
        }

        /// Without its sign.
        public var magnitude: Stride { Stride(attoseconds: Int128(clamping: duration.attoseconds.magnitude)) }

        /// So many seconds.
        public static func seconds(_ seconds: Int) -> Stride { Stride(.seconds(seconds)) }

        /// So many seconds; NaN is none.
        public static func seconds(_ seconds: Double) -> Stride { Stride(seconds.asDuration ?? .zero) }

        /// So many thousandths of a second.
        public static func milliseconds(_ milliseconds: Int) -> Stride { Stride(.milliseconds(milliseconds)) }

        /// So many millionths of a second.
        public static func microseconds(_ microseconds: Int) -> Stride { Stride(.microseconds(microseconds)) }

        /// So many nanoseconds.
        public static func nanoseconds(_ nanoseconds: Int) -> Stride { Stride(.nanoseconds(nanoseconds)) }

        /// Which one is shorter, or more negative.
        public static func < (left: Stride, right: Stride) -> Bool { left.duration < right.duration }

        /// Their sum; saturates.
        public static func + (left: Stride, right: Stride) -> Stride {
            let (sum, overflow) = left.duration.attoseconds.addingReportingOverflow(right.duration.attoseconds)
            return Stride(attoseconds: overflow ? left.limit : sum)
        }

        /// Their difference; saturates.
        public static func - (left: Stride, right: Stride) -> Stride {
            let (rest, overflow) = left.duration.attoseconds.subtractingReportingOverflow(right.duration.attoseconds)
            return Stride(attoseconds: overflow ? left.limit : rest)
        }

        /// The product of their seconds; saturates.
        public static func * (left: Stride, right: Stride) -> Stride {
            let product = left.duration.attoseconds.multipliedFullWidth(by: right.duration.attoseconds)
            let second: Int128 = 1_000_000_000_000_000_000
            // The quotient fits where the high half is less than half a second.
            if product.high >= second / 2 { return Stride(attoseconds: .max) }
            if product.high < -second / 2 { return Stride(attoseconds: .min) }
            return Stride(attoseconds: second.dividingFullWidth(product).quotient)
        }

        /// As `+`.
        public static func += (left: inout Stride, right: Stride) { left = left + right }

        /// As `-`.
        public static func -= (left: inout Stride, right: Stride) { left = left - right }

        /// As `*`.
        public static func *= (left: inout Stride, right: Stride) { left = left * right }

        private init(attoseconds: Int128) {
            self.init(Duration(attoseconds: attoseconds))
        }

        private var limit: Int128 { duration < .zero ? .min : .max }
    }
}
#endif
#endif
