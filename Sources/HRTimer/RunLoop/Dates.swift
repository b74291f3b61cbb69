import CHRTimer
public import FoundationEssentials
public import HRTimerCore

// Foundation's spellings: instants as `Date`, converted when they are given. Steps of the wall clock after that do not move
// a timer. A `Date` of today is exact to 0.1 µs.

extension LoopTimer {
    /// A timer that fires at `date`, and if it repeats at every interval, in seconds, after that. Not in a loop yet.
    ///
    /// A past date counts as now; NaN, in either, makes an invalid timer.
    public convenience init(
        fire date: Date,
        interval: Double,
        repeats: Bool,
        policy: MissedTickPolicy = .mergeToGrid,
        userInfo: (any Sendable)? = nil,
        block: @escaping Handler
    ) {
        guard let wall_ns = date.wall_ns, let interval = Duration(roundingUpSeconds: interval) else {
            self.init(invalidWithPolicy: policy)
            return
        }
        let deadline_ns = TimeBase.kernel.instant_ns(wall_ns: wall_ns)
        self.init(
            deadline_ns: deadline_ns,
            origin: .date(wall_ns: wall_ns, isPast: deadline_ns < TimeBase.kernel.now_ns),
            repetition: Repetition(every: repeats ? interval : nil, policy: policy),
            userInfo: userInfo,
            handler: block
        )
        state.withLock { $0.givenDate = (deadline_ns, date.timeIntervalSinceReferenceDate) }
    }

    /// A timer that calls `target`, which it holds, at `date`; see the one with a block, and for the target the one with an
    /// instant.
    @_disfavoredOverload
    public convenience init<Target: AnyObject & Sendable>(
        fireAt date: Date,
        interval: Double,
        target: Target,
        action: @escaping Action<Target>,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) {
        let block = Self.calling(target, action)
        self.init(fire: date, interval: interval, repeats: repeats, userInfo: userInfo, block: block)
    }

    /// The same without holding the target.
    @_disfavoredOverload
    public convenience init<Target: AnyObject & Sendable>(
        fireAt date: Date,
        interval: Double,
        weakTarget target: Target,
        action: @escaping Action<Target>,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) {
        let block = Self.calling(weakly: target, action)
        self.init(fire: date, interval: interval, repeats: repeats, userInfo: userInfo, block: block)
    }

    /// As `fireInstant`, on the wall clock as it reads now. Setting NaN does nothing.
    public var fireDate: Date {
        get {
            withLoop { state, loop in
                let shown_ns = state.shownDeadline_ns
                if let given = state.givenDate, given.deadline_ns == shown_ns {
                    return Date(timeIntervalSinceReferenceDate: given.seconds)
                }
                return (loop?.time ?? .kernel).date(instant_ns: shown_ns)
            }
        }
        set {
            guard let wall_ns = newValue.wall_ns else { return }
            let time = withLoop { _, loop in loop?.time } ?? .kernel
            let deadline_ns = time.instant_ns(wall_ns: wall_ns)
            move(
                to: deadline_ns,
                origin: .date(wall_ns: wall_ns, isPast: deadline_ns < time.now_ns),
                // So that it reads back as it was.
                givenSeconds: newValue.timeIntervalSinceReferenceDate
            )
        }
    }
}

extension TimerLoop {
    /// As `run(until:)` with an instant; `distantFuture` is no limit, NaN one in the past.
    @available(*, noasync)
    @_disfavoredOverload
    public func run(until limit: Date) {
        run(until: instant(limit))
    }

    /// As `run(mode:before:)` with an instant; `distantFuture` is no limit, NaN one in the past.
    @available(*, noasync)
    @discardableResult
    @_disfavoredOverload
    public func run(mode: Mode, before limit: Date) -> Bool {
        run(mode: mode, before: instant(limit))
    }

    /// As `limitInstant(forMode:)`.
    public func limitDate(forMode mode: Mode) -> Date? {
        limitInstant(forMode: mode).map { time.date(instant_ns: $0.nanoseconds) }
    }

    private func instant(_ date: Date) -> MonotonicInstant {
        date.wall_ns.map { MonotonicInstant(nanoseconds: time.instant_ns(wall_ns: $0)) } ?? .distantPast
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
        if wall_ns == .max || wall_ns == .min { return wall_ns }
        // The wall clock first: what passes between the two makes the instant later, never earlier.
        let left_ns = wall_ns.subtractingSaturating(hrt_clock_now_ns(HRT_CLOCK_WALL))
        return now_ns.addingSaturating(left_ns)
    }

    fileprivate func date(instant_ns: Int64) -> Date {
        if instant_ns == .max { return .distantFuture }
        if instant_ns == .min { return .distantPast }
        let left_ns = instant_ns.subtractingSaturating(now_ns)
        let (seconds, rest_ns) = hrt_clock_now_ns(HRT_CLOCK_WALL).addingSaturating(left_ns)
            .quotientAndRemainder(dividingBy: 1_000_000_000)
        let whole = Double(seconds) - Date.timeIntervalBetween1970AndReferenceDate
        return Date(timeIntervalSinceReferenceDate: whole + Double(rest_ns) / 1e9)
    }
}
