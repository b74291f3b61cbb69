// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
public import Dispatch
public import FoundationEssentials
public import HRTimerCore

// Foundation's spelling of a point in time, `Date`. A date is converted to a monotonic instant when it is given: later steps of
// the wall clock do not move the timer. A present-day `Date` is exact to 0.1 µs.

extension Date: TimePoint {
    /// Returns the instant at which the wall clock will read this date, if the clock is not set meanwhile; nil for NaN.
    public func instant(on time: TimeBase) -> MonotonicInstant? {
        guard let wall_ns else {
            UsageWarning.report(.notANumber("a date"))
            return nil
        }
        return MonotonicInstant(nanoseconds: time.instant_ns(wall_ns: wall_ns))
    }
}

extension TimePoint {
    /// Returns what a timer that fires at this point stores about it: its kind, and for a `Date` also the date as it was given.
    func origin(_ instant: MonotonicInstant) -> (kind: LoopTimer.Origin, date: LoopTimer.FireDate?) {
        // Compares the types first, because a cast takes longer.
        guard Self.self == Date.self, let date = self as? Date, let wall_ns = date.wall_ns else {
            return (.instant(PassedOn { _ in instant.nanoseconds }), nil)
        }
        let fireDate = LoopTimer.FireDate(on: TimeBase.current.id)
        fireDate.give(wall_ns: wall_ns, seconds: date.timeIntervalSinceReferenceDate, for: instant.nanoseconds)
        return (.date(wall_ns: wall_ns, PassedOn { $0.instant_ns(wall_ns: wall_ns) }), fireDate)
    }
}

extension LoopTimer {
    /// The next deadline as a date of the wall clock; see `fireInstant`.
    ///
    /// Setting NaN does nothing.
    ///
    /// A date that was set reads back bit for bit. Any other deadline reads as the same date, bit for bit, until the next call:
    /// the wall clock's offset is read when a date is set or first asked for, and then kept. If the wall clock has been set
    /// since, by 10 ms or more, the date is that on the clock as it is now. On a virtual time this is the virtual wall clock.
    public var fireDate: Date {
        get {
            withState { state, time in
                let date = state.date ?? FireDate(on: time.id)
                state.date = date
                return Date(timeIntervalSinceReferenceDate: date.seconds(for: state.shownDeadline_ns(time), time))
            }
        }
        set {
            guard let wall_ns = newValue.wall_ns else {
                UsageWarning.report(.notANumber("the fireDate that was set"))
                return
            }
            let seconds = newValue.timeIntervalSinceReferenceDate
            let passed = PassedOn { $0.instant_ns(wall_ns: wall_ns) }
            update { state, loopTime in
                let time = loopTime ?? .current
                let deadline_ns = time.instant_ns(wall_ns: wall_ns)
                let now_ns = time.now_ns
                let origin = Origin.date(wall_ns: wall_ns, passed)
                let first_ns = loopTime == nil ? deadline_ns : max(deadline_ns, now_ns)
                guard state.move(to: first_ns, origin: origin) else { return }
                let date = FireDate(on: time.id)
                date.give(wall_ns: wall_ns, seconds: seconds, for: state.deadline_ns)
                state.date = date
            }
        }
    }
}

extension TimerLoop {
    /// Returns `limitInstant(forMode:)` as a date.
    public func limitDate(forMode mode: Mode) -> Date? {
        limitInstant(forMode: mode).map { time.date(instant_ns: $0.nanoseconds) }
    }
}

extension Date {
    /// The date in whole nanoseconds since 1970, rounded up and saturating; nil for NaN.
    fileprivate var wall_ns: Int64? {
        let seconds = timeIntervalSinceReferenceDate
        if seconds.isNaN { return nil }
        // Converts whole seconds separately: multiplying the whole value would round to 0.2 µs, the resolution of its double.
        let whole = seconds.rounded(.down)
        guard let whole_s = Int64(exactly: whole + Date.timeIntervalBetween1970AndReferenceDate),
            case let (whole_ns, overflow) = whole_s.multipliedReportingOverflow(by: 1_000_000_000), !overflow
        else { return seconds < 0 ? .min : .max }
        return whole_ns.addingSaturating(Int64(((seconds - whole) * 1e9).rounded(.up)))
    }
}

extension TimeBase {
    /// Returns the instant at which the wall clock will read `wall_ns`, if the clock is not set meanwhile.
    func instant_ns(wall_ns: Int64) -> Int64 {
        monotonic_ns(wall_ns, of: .wall)
    }

    /// How far the wall clock is ahead of the monotonic clock, to within the time between two readings.
    fileprivate var wallOffset_ns: Int64 { offset_ns(of: .wall) }

    fileprivate func date(instant_ns: Int64) -> Date {
        Date(timeIntervalSinceReferenceDate: Date.seconds(instant_ns, wallOffset_ns: wallOffset_ns))
    }
}

extension Date {
    /// Returns the seconds since 2001 at an instant, for a wall clock that is ahead of the monotonic clock by `wallOffset_ns`.
    fileprivate static func seconds(_ instant_ns: Int64, wallOffset_ns: Int64) -> Double {
        if instant_ns == .max { return Date.distantFuture.timeIntervalSinceReferenceDate }
        if instant_ns == .min { return Date.distantPast.timeIntervalSinceReferenceDate }
        let (seconds, rest_ns) = wallOffset_ns.addingSaturating(instant_ns)
            .quotientAndRemainder(dividingBy: 1_000_000_000)
        return Double(seconds) - Date.timeIntervalBetween1970AndReferenceDate + Double(rest_ns) / 1e9
    }
}

extension LoopTimer {
    /// The dates of a timer's deadlines on the wall clock. Part of its state, but a separate object, since few have one.
    final class FireDate: @unchecked Sendable {
        // Sendable: an object belongs to one state, and is touched with the locks held that guard the state.

        /// The time, the kernel's or a virtual one, whose clocks made the conversion.
        private(set) var clock: TimeID
        /// The date as it was given, in seconds since 2001, and the deadline that it belongs to.
        private var given: (deadline_ns: Int64, seconds: Double)?
        /// How far the wall clock was ahead of the monotonic clock when a date was given or first asked for.
        private var wallOffset_ns: Int64?

        /// A wall clock that moved this far was set: slewing takes longer than a timer lives, and readings differ by less.
        private static let step_ns: Int64 = 10_000_000

        init(on clock: TimeID) {
            self.clock = clock
        }

        func give(wall_ns: Int64, seconds: Double, for deadline_ns: Int64) {
            given = (deadline_ns, seconds)
            wallOffset_ns = wall_ns == .max || wall_ns == .min ? nil : wall_ns.subtractingSaturating(deadline_ns)
        }

        /// Assigns the given date to another deadline, because the loop's clock converts the date differently.
        func resolveDeadline(to deadline_ns: Int64, wall_ns: Int64, clock: TimeID) {
            self.clock = clock
            guard let given else { return }
            give(wall_ns: wall_ns, seconds: given.seconds, for: deadline_ns)
        }

        func seconds(for deadline_ns: Int64, _ time: TimeBase) -> Double {
            if let given, given.deadline_ns == deadline_ns { return given.seconds }
            let present_ns = time.wallOffset_ns
            let (difference_ns, overflow) = present_ns.subtractingReportingOverflow(wallOffset_ns ?? .max)
            let isKept = !overflow && difference_ns.magnitude < Self.step_ns
            let offset_ns = isKept ? wallOffset_ns ?? present_ns : present_ns
            wallOffset_ns = offset_ns
            return Date.seconds(deadline_ns, wallOffset_ns: offset_ns)
        }
    }
}

// Dispatch's types for times, wherever this library takes a time.

extension DispatchTimeInterval: TimeSpan {
    /// The same length of time as a `Duration`; for `.never` one that does not end.
    public var asDuration: Duration? { Duration(self) ?? .nanoseconds(Int64.max) }
}

extension DispatchTime: TimePoint {
    /// Returns the same instant, see `MonotonicInstant(_:)`.
    ///
    /// Ignores `time`, since Dispatch has no virtual time.
    public func instant(on time: TimeBase) -> MonotonicInstant? { MonotonicInstant(self) }
}
#endif
