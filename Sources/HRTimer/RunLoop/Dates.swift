#if os(Linux)
import CHRTimer
public import FoundationEssentials
public import HRTimerCore

// Foundation's spellings: instants as `Date`, converted when they are given. Steps of the wall clock after that do not move
// a timer. A `Date` of today is exact to 0.1 µs.

extension Date: TimePoint {
    /// The instant at which the wall clock will read this date, if it is not set meanwhile; nil for NaN.
    public func instant(on time: TimeBase) -> MonotonicInstant? {
        wall_ns.map { MonotonicInstant(nanoseconds: time.instant_ns(wall_ns: $0)) }
    }
}

extension TimePoint {
    /// What a timer that fires at this point has to know of it.
    func origin(_ instant: MonotonicInstant) -> (kind: LoopTimer.Origin, date: LoopTimer.FireDate?) {
        // The type first: a cast takes longer.
        guard Self.self == Date.self, let date = self as? Date, let wall_ns = date.wall_ns else {
            return (.instant(PassedOn { _ in instant.nanoseconds }), nil)
        }
        let fireDate = LoopTimer.FireDate(on: TimeBase.current.id)
        fireDate.give(wall_ns: wall_ns, seconds: date.timeIntervalSinceReferenceDate, for: instant.nanoseconds)
        return (.date(wall_ns: wall_ns, PassedOn { $0.instant_ns(wall_ns: wall_ns) }), fireDate)
    }
}

extension LoopTimer {
    /// As `fireInstant`, on the wall clock. Setting NaN does nothing.
    ///
    /// A date that was given reads back to the bit, and so does every other until the next call: the wall clock is read when a
    /// date is given or first asked for. Where it has been set since, by 10 ms or more, the date returned is that of
    /// the call on the clock as it is now. On a virtual time, the virtual wall clock.
    public var fireDate: Date {
        get {
            withState { state, time in
                let date = state.date ?? FireDate(on: time.id)
                state.date = date
                return Date(timeIntervalSinceReferenceDate: date.seconds(for: state.shownDeadline_ns(time), time))
            }
        }
        set {
            guard let wall_ns = newValue.wall_ns else { return }
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
    /// As `limitInstant(forMode:)`.
    public func limitDate(forMode mode: Mode) -> Date? {
        limitInstant(forMode: mode).map { time.date(instant_ns: $0.nanoseconds) }
    }
}

extension Date {
    /// Whole nanoseconds since 1970, rounded up; nil for NaN, saturating.
    fileprivate var wall_ns: Int64? {
        let seconds = timeIntervalSinceReferenceDate
        if seconds.isNaN { return nil }
        // Whole seconds apart: a product would round to the double's 0.2 µs.
        let whole = seconds.rounded(.down)
        guard let whole_s = Int64(exactly: whole + Date.timeIntervalBetween1970AndReferenceDate),
            case let (whole_ns, overflow) = whole_s.multipliedReportingOverflow(by: 1_000_000_000), !overflow
        else { return seconds < 0 ? .min : .max }
        return whole_ns.addingSaturating(Int64(((seconds - whole) * 1e9).rounded(.up)))
    }
}

extension TimeBase {
    /// The instant at which the wall clock will read `wall_ns`, if it is not set meanwhile.
    func instant_ns(wall_ns: Int64) -> Int64 {
        monotonic_ns(wall_ns, of: .wall)
    }

    /// How far the wall clock is ahead of this one, to within the time between two readings.
    fileprivate var wallOffset_ns: Int64 { offset_ns(of: .wall) }

    fileprivate func date(instant_ns: Int64) -> Date {
        Date(timeIntervalSinceReferenceDate: Date.seconds(instant_ns, wallOffset_ns: wallOffset_ns))
    }
}

extension Date {
    /// The seconds since 2001 at an instant, for a wall clock that is so far ahead.
    fileprivate static func seconds(_ instant_ns: Int64, wallOffset_ns: Int64) -> Double {
        if instant_ns == .max { return Date.distantFuture.timeIntervalSinceReferenceDate }
        if instant_ns == .min { return Date.distantPast.timeIntervalSinceReferenceDate }
        let (seconds, rest_ns) = wallOffset_ns.addingSaturating(instant_ns)
            .quotientAndRemainder(dividingBy: 1_000_000_000)
        return Double(seconds) - Date.timeIntervalBetween1970AndReferenceDate + Double(rest_ns) / 1e9
    }
}

extension LoopTimer {
    /// What a timer's deadlines are called on the wall clock. Part of its state, but of few timers: apart from it.
    final class FireDate: @unchecked Sendable {
        // Sendable: belongs to one state, and is touched with the locks that guard that.

        /// By whose clocks it was converted.
        private(set) var clock: TimeID
        /// In seconds since 2001, as it was given, and for which deadline.
        private var given: (deadline_ns: Int64, seconds: Double)?
        /// How far the wall clock was ahead when a date was given or first asked for.
        private var wallOffset_ns: Int64?

        /// A wall clock that has moved so far was set; slewing takes longer than a timer lives, and readings differ by less.
        private static let step_ns: Int64 = 10_000_000

        init(on clock: TimeID) {
            self.clock = clock
        }

        func give(wall_ns: Int64, seconds: Double, for deadline_ns: Int64) {
            given = (deadline_ns, seconds)
            wallOffset_ns = wall_ns == .max || wall_ns == .min ? nil : wall_ns.subtractingSaturating(deadline_ns)
        }

        /// The clock of a loop puts the deadline elsewhere.
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
#endif
