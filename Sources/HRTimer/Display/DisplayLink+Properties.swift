// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

extension DisplayLink {
    private var now_ns: Int64 { withState { $0.time.now_ns } }

    /// The instant of the refresh that the present or latest call is for, not the instant of the call.
    ///
    /// Before the first call, the present instant.
    public var timestamp: MonotonicInstant {
        MonotonicInstant(nanoseconds: withState { $0.reported.timestamp_ns } ?? now_ns)
    }

    /// The instant of the next call's refresh, at which the frame that is now being prepared should appear.
    ///
    /// Before the first call, the same as `timestamp`.
    public var targetTimestamp: MonotonicInstant {
        MonotonicInstant(nanoseconds: withState { $0.reported.target_ns } ?? now_ns)
    }

    /// The time between two refreshes of the display, whatever the rate of calls.
    public var duration: Duration {
        let (source, rate) = withState { ($0.source, $0.rate) }
        return source?.period ?? .nanoseconds(FrameGrid(anchor_ns: 0, rate: rate ?? .standard).interval_ns)
    }

    /// The time from the last call's refresh to this call's: how far animations have to move.
    ///
    /// It also spans a change of rate. Zero in the first call, and in the first after refreshes without a call by intent: while
    /// the link was paused, was in no loop, or had a hidden surface.
    public var delta: Duration { .nanoseconds(withState { $0.reported.delta_ns }) }

    /// The source of the refreshes; nil if none was given and the link was not added to a loop yet.
    public var source: VsyncSource? { withState { $0.source } }

    /// The display's rate, measured or given. 60 before a link without a rate is added to a loop.
    public var maximumFramesPerSecond: Double { withState { $0.maximumFramesPerSecond } }

    /// Whether the display's rate differs by more than a thousandth from its rate at the call before the present or latest
    /// one: because of another mode, a virtual display's new rate, or a rate that was learnt. False in the first call.
    package var hasNewRate: Bool { withState { $0.reported.hasNewRate } }

    /// The requested rate of calls; 0, the default, requests the display's own rate.
    ///
    /// Setting it replaces a range or an interval.
    ///
    /// The link uses the display's rate divided by a whole number: the nearest such rate, or the slower of two equally near
    /// ones. A request of 24 at 60 Hz gives 20. A virtual display can have the rate itself, or a range of rates:
    /// `VsyncSource.init(frameRates:)`. Negative values and NaN count as 0.
    public var preferredFramesPerSecond: Double {
        get {
            if case .rate(let preferred) = withState({ $0.request }) { return preferred }
            return 0
        }
        set { request(newValue > 0 ? .rate(newValue) : .none) }
    }

    /// The requested range of rates.
    ///
    /// Setting it replaces a rate or an interval.
    ///
    /// The link uses the display's rate divided by a whole number: of those in the range, the one nearest to the preferred
    /// rate. If none is in the range, it uses the nearest of all: see `actualFramesPerSecond`.
    public var preferredFrameRateRange: FrameRateRange {
        get {
            if case .range(let range) = withState({ $0.request }) { return range }
            return .default
        }
        set { request(newValue == .default ? .none : .range(newValue)) }
    }

    /// The number of refreshes for each call: 2 for a call at every second one. Values below 1 count as 1. Setting it replaces
    /// a rate or a range. While none is set, it is the number that results from the rate or the range.
    package var frameInterval: Int {
        get { withState { Int($0.divisor) } }
        set { request(newValue > 1 ? .interval(newValue) : .none) }
    }

    private func request(_ request: RateRequest) {
        rearm { state in
            state.request = request
            state.mustDivide()
        }
        if source?.isVariable == true { tellSource() }
    }

    /// The rate of calls in use.
    public var actualFramesPerSecond: Double {
        withState { $0.maximumFramesPerSecond / Double($0.divisor) }
    }

    /// How long before the end of its frame, `targetTimestamp`, a call comes.
    ///
    /// By default it comes at the frame's beginning, `timestamp`; it never comes before that. A handler that takes longer than
    /// its lead loses a refresh.
    public var wakeLead: WakeLead {
        get { withState { $0.lead } }
        set { rearm { $0.lead = newValue } }
    }

    /// Whether the link keeps a run of its loop going, like `LoopTimer.keepsLoopRunning`.
    ///
    /// True at first. Any thread.
    public var keepsLoopRunning: Bool {
        get { withState { $0.keepsLoopRunning } }
        set {
            update {
                $0.keepsLoopRunning = newValue
            } inLoop: { _, loop, place in
                loop.setKeepsRunning(place.token, newValue)
                return loop.mustWakeToEnd()
            }
        }
    }

    /// The precision of the calls, if it is to be higher than the loop's; see `LoopTimer.precision`.
    public var precision: TimerPrecision? {
        get { withState { $0.precision } }
        set { rearm { $0.precision = newValue } }
    }

    /// Whether calls are suspended.
    ///
    /// After a pause they continue at the next refresh; refreshes during the pause are not counted.
    public var isPaused: Bool {
        get { withState { $0.isPaused } }
        set {
            rearm { $0.isPaused = newValue }
            tellSource()
        }
    }

    /// Refreshes so far that should have had a call but had none, because the handler or the loop was busy.
    ///
    /// Refreshes while the loop ran in a mode without the link do not count.
    public var droppedFrames: Int { withState { $0.droppedFrames } }

    /// The calls so far, `droppedFrames` as missed ticks, and, once a handler watches late calls, the lateness of those; see
    /// `onLate(beyond:_:)`.
    public var statistics: TimerStatistics {
        let (calls, dropped, handlers) = withState { ($0.reported.calls, $0.droppedFrames, $0.lateHandlers) }
        return TimerStatistics(
            fires: UInt64(calls),
            missedTicks: UInt64(dropped),
            lateness: handlers?.statistics ?? LatenessStatistics()
        )
    }

    /// How long after its instant the latest call began.
    package var latestLateness: Duration { .nanoseconds(withState { $0.reported.lateness_ns }) }

    /// A copy of the histogram of how long after its instant each call began so far, counted from the refresh or, with a lead,
    /// from the instant that the lead requests.
    ///
    /// O(buckets).
    public var lateness: LatencyHistogram { withState { $0.lateness?.copy() } ?? LatencyHistogram() }

    /// `timestamp` and `targetTimestamp`; nil before the first call.
    package var toldTimestamps: (present: MonotonicInstant, target: MonotonicInstant)? {
        let reported = withState { $0.reported }
        guard let timestamp_ns = reported.timestamp_ns, let target_ns = reported.target_ns else { return nil }
        return (MonotonicInstant(nanoseconds: timestamp_ns), MonotonicInstant(nanoseconds: target_ns))
    }

    /// Whether a loop calls the link.
    package var isInLoop: Bool { withState { !$0.modes.isEmpty } }

    /// Whether the link is valid; false once it was invalidated.
    public var isValid: Bool { withState { $0.handler != nil } }
}
#endif
