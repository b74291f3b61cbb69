public import HRTimerCore

extension DisplayLink {
    private var now_ns: Int64 { state.withLock { $0.time.now_ns } }

    /// The refresh that the present or latest call belongs to, not the instant of the call; before the first call the
    /// present instant.
    public var timestamp: MonotonicInstant {
        MonotonicInstant(nanoseconds: state.withLock { $0.reported.timestamp_ns } ?? now_ns)
    }

    /// The refresh that the next call is for: when the frame now being prepared should appear. Before the first call it is
    /// what `timestamp` is.
    public var targetTimestamp: MonotonicInstant {
        MonotonicInstant(nanoseconds: state.withLock { $0.reported.target_ns } ?? now_ns)
    }

    /// The time between two refreshes of the display, at any rate of calls.
    public var duration: Duration {
        let (source, rate) = state.withLock { ($0.source, $0.rate) }
        return source?.period ?? .nanoseconds(FrameGrid(anchor_ns: 0, rate: rate ?? .standard).interval_ns)
    }

    /// From the refresh of the call before to that of this one: how far what is drawn has to move. Also across a change of rate,
    /// or a pause. Zero in the first call.
    public var delta: Duration { .nanoseconds(state.withLock { $0.reported.delta_ns }) }

    /// From the beginning of the call before to that of this one, as it was. Zero in the first call.
    public var rawDelta: Duration { .nanoseconds(state.withLock { $0.reported.rawDelta_ns }) }

    /// Where the refreshes come from; nil before the link is added to a loop, if none was given.
    public var source: VsyncSource? { state.withLock { $0.source } }

    /// The display's rate: as measured, or as given. 60 before a link without a rate is added to a loop.
    public var maximumFramesPerSecond: Double { state.withLock { $0.maximumFramesPerSecond } }

    /// Whether the display's rate is another one, by more than a thousandth, than at the call before the present or latest:
    /// another mode, a virtual display's new rate, or one that was learnt. False in the first call.
    public var hasNewRate: Bool { state.withLock { $0.reported.hasNewRate } }

    /// The requested rate of calls; 0, as at first, is the display's own. What is used is the display's rate divided by
    /// a whole number, the nearest such rate, of two equally near ones the slower: 24 at 60 Hz is 20. A virtual display
    /// can have the rate itself, or a range of them: `VsyncSource.init(frameRates:)`. Negative values and NaN count as
    /// 0. Takes the place of a range or an interval.
    public var preferredFramesPerSecond: Double {
        get {
            if case .rate(let preferred) = state.withLock({ $0.request }) { return preferred }
            return 0
        }
        set { request(newValue > 0 ? .rate(newValue) : .none) }
    }

    /// The requested rates of calls. Of the display's rate divided by whole numbers the one nearest to the preferred
    /// one that lies in the range; if none does, the nearest of all: see `isInPreferredRange`. Takes the place of a
    /// rate or an interval.
    public var preferredFrameRateRange: FrameRateRange {
        get {
            if case .range(let range) = state.withLock({ $0.request }) { return range }
            return .default
        }
        set { request(newValue == .default ? .none : .range(newValue)) }
    }

    /// Whether the rate of calls in use lies in the preferred range.
    public var isInPreferredRange: Bool { preferredFrameRateRange.contains(actualFramesPerSecond) }

    /// One of so many refreshes has a call: 2 for every second one. Values below 1 count as 1. Setting it takes the
    /// place of a rate or a range; without an interval it is what those came to.
    public var frameInterval: Int {
        get { state.withLock { Int($0.divisor) } }
        set { request(newValue > 1 ? .interval(newValue) : .none) }
    }

    private func request(_ request: RateRequest) {
        rearm { state, _ in
            state.request = request
            state.mustDivide()
        }
        if source?.isVariable == true { tellSource() }
    }

    /// The rate of calls in use.
    public var actualFramesPerSecond: Double {
        state.withLock { $0.maximumFramesPerSecond / Double($0.divisor) }
    }

    /// How long before the end of its frame, `targetTimestamp`, a call comes; at the frame's beginning, `timestamp`, unless
    /// something else is asked for, and never before that. A handler that takes longer than its lead loses a refresh.
    public var wakeLead: WakeLead {
        get { state.withLock { $0.lead } }
        set { rearm { state, _ in state.lead = newValue } }
    }

    /// How exact the calls are to be, if that is more than the loop is; see `LoopTimer.precision`.
    public var precision: TimerPrecision? {
        get { state.withLock { $0.precision } }
        set {
            let timer = state.withLock { state in
                state.precision = newValue
                return state.timer
            }
            timer?.precision = newValue
        }
    }

    /// Whether calls are held back. After a pause they go on at the next refresh; what passed meanwhile is not counted.
    public var isPaused: Bool {
        get { state.withLock { $0.isPaused } }
        set {
            rearm { state, _ in state.isPaused = newValue }
            tellSource()
        }
    }

    /// Refreshes so far that should have had a call and had none, because the handler or the loop was busy.
    /// Those while the loop ran in a mode without the link do not count.
    public var droppedFrames: Int { state.withLock { $0.droppedFrames } }

    /// What a link has done so far.
    public struct Statistics: Sendable, Hashable {
        /// Calls of the handler.
        public var calls = 0
        /// As of `droppedFrames`.
        public var droppedFrames = 0
        /// How long after its instant the latest call came.
        public var lateness = Duration.zero
        /// The most of all.
        public var maximumLateness = Duration.zero
        /// The sum of all: divided by `calls`, the mean.
        public var totalLateness = Duration.zero
    }

    /// Counts since the link was made.
    public var statistics: Statistics {
        state.withLock { state in
            let reported = state.reported
            return Statistics(
                calls: reported.calls,
                droppedFrames: state.droppedFrames,
                lateness: .nanoseconds(reported.lateness_ns),
                maximumLateness: .nanoseconds(reported.maximumLateness_ns),
                totalLateness: .nanoseconds(reported.totalLateness_ns)
            )
        }
    }

    /// How long after its instant each call came so far, from the refresh, or with a lead from the instant that it asks for: a
    /// copy. O(buckets).
    public var lateness: LatencyHistogram { state.withLock { $0.lateness?.copy() } ?? LatencyHistogram() }

    /// `timestamp` and `targetTimestamp`; nil before the first call.
    package var toldTimestamps: (present: MonotonicInstant, target: MonotonicInstant)? {
        let reported = state.withLock { $0.reported }
        guard let timestamp_ns = reported.timestamp_ns, let target_ns = reported.target_ns else { return nil }
        return (MonotonicInstant(nanoseconds: timestamp_ns), MonotonicInstant(nanoseconds: target_ns))
    }

    /// Whether some loop calls it.
    package var isInLoop: Bool { state.withLock { !$0.modes.isEmpty } }

    /// False once invalidated.
    public var isValid: Bool { state.withLock { $0.handler != nil } }
}
