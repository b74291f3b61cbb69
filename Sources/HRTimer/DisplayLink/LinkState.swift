#if os(Linux)
import HRTimerCore

/// The state of a `DisplayLink`, protected by the link's lock.
struct LinkState: Sendable {
    /// The link's handler; nil once the link is invalid.
    var handler: DisplayLink.Handler?
    /// How calls reach the handler's actor; nil if the loop's thread calls the handler.
    let delivery: Delivery?
    /// The rate of the link's virtual display; nil if a source was given or is still to be chosen.
    let rate: FrameRate?
    /// The source of the refreshes. If none was given, nil until the link is first added to a loop.
    var source: VsyncSource?
    var request = RateRequest.none
    var lead = WakeLead.none
    var precision: TimerPrecision?
    var keepsLoopRunning = true
    var isPaused = false
    /// Whether the surface is hidden, and the source was told to make no calls then.
    var isHeld = false

    /// The link is called for every `divisor`-th refresh. `divided` is the display's rate for which the divisor was computed.
    private(set) var divisor: Int64 = 1
    private var divided = 0.0
    /// The next refresh whose call is due. Earlier ones are not counted as dropped: the link had no call to make for them.
    private var due: Int64 = 0
    /// The latest refresh that was counted as dropped. It gets no call any more, even if, with a lead, its frame now ends
    /// later.
    private var lost = Int64.min
    /// The values that an on-time call will need, computed before its refresh comes.
    private var ahead: Ahead?
    /// Whether the call of `ahead` is already due, and its timer is armed for it.
    private(set) var isDue = false
    /// Whether there are no calls by intent: the link is paused, or in no loop.
    private var isResting = true
    private(set) var droppedFrames = 0
    /// The values that the link reports about its present or latest call.
    private(set) var reported = Reported()
    /// The histogram of the calls' lateness; nil before the first call.
    private(set) var lateness: LatencyHistogram?
    /// The lateness of the running call, to be recorded when the handler has returned.
    private var unrecordedLateness_ns: Int64?
    /// How long the handler takes. It rises at once and falls slowly.
    private var learned_ns = 0.0

    /// The handlers that watch late calls; nil if there are none.
    var lateHandlers: LateHandlers?
    /// What is known of the call that waits for its actor; nil unless late calls are watched.
    var submitted: SubmittedCall?

    /// How often the values that determine the next call were changed.
    var changes: UInt = 0
    /// The time of the loop that the link is in, or was in last.
    var time = TimeBase.kernel
    private(set) var timer: LoopTimer?
    /// How often the link was put into a loop.
    private(set) var stays: UInt = 0
    weak var loop: TimerLoop?
    var modes: Set<TimerLoop.Mode> = []

    /// The delivery of calls to the handler's actor. Calls that wait for the actor are merged into one.
    struct Delivery: Sendable {
        let actor: any Actor
        let calls = ActorCalls(merges: true)
    }

    /// A call that is made before the next refresh, computed in advance so that the call itself needs no 128-bit divisions.
    private struct Ahead: Sendable {
        let number: Int64
        let refresh_ns: Int64
        /// When the call is to come: at the refresh, or later because of the lead.
        let call_ns: Int64
        /// The instant from which on the call is late.
        let end_ns: Int64
        /// The next refresh that has a call.
        let following: Int64
        let following_ns: Int64
    }

    init(
        handler: @escaping DisplayLink.Handler,
        on actor: (any Actor)?,
        rate: FrameRate? = nil,
        source: VsyncSource? = nil
    ) {
        self.handler = handler
        delivery = actor.map { Delivery(actor: $0) }
        self.rate = rate
        self.source = source
    }

    /// The display's rate.
    var maximumFramesPerSecond: Double { source?.framesPerSecond ?? (rate ?? .standard).framesPerSecond }

    // MARK: The loop

    /// Begins a stay in a loop, and returns the stay's number.
    mutating func nextStay() -> UInt {
        stays &+= 1
        return stays
    }

    mutating func enter(_ timer: LoopTimer) { self.timer = timer }

    /// Ends the stay and returns its timer, which the caller must release without the lock.
    mutating func leave() -> LoopTimer? {
        (ahead, isDue, isResting, modes) = (nil, false, true, [])
        return timer.take()
    }

    // MARK: A call

    /// Begins the call for a due refresh. Returns false if no handler may be called, or if there is no refresh to call it for.
    mutating func beginCall(_ now_ns: Int64) -> Bool {
        guard handler != nil, !isPaused, !isHeld else { return false }
        if let ahead, ahead.call_ns <= now_ns, now_ns < ahead.end_ns {
            reported.turn(to: ahead.number, ahead.refresh_ns, ahead.following_ns, rate: divided)
            due = ahead.following
        } else if !beginLateCall(now_ns) {
            return false
        }
        // If another thread has rescheduled the link since the refresh, `ahead` is for a later one.
        reported.begin(
            now_ns,
            due_ns: ahead.flatMap { $0.call_ns <= now_ns ? $0.call_ns : reported.timestamp_ns }
        )
        if ahead != nil { unrecordedLateness_ns = reported.lateness_ns }
        return true
    }

    private mutating func beginLateCall(_ now_ns: Int64) -> Bool {
        let (divisor, lead_ns, due) = (divisor, lead_ns, due)
        // Refreshes that passed while the loop ran in modes without the link needed no call.
        let without = loop.flatMap { loop in timer.map { loop.runsWithout($0, now_ns: now_ns) } } ?? []
        let found = source?.withTimeline { timeline in
            let next = Self.next(timeline, now_ns, divisor, lead_ns)
            let latest = lead_ns == nil ? timeline.number(at: now_ns) : next - divisor
            let dropped = Self.dropped(timeline, from: due, to: latest, divisor, lead_ns, without)
            return (latest, timeline.instant_ns(latest), next, timeline.instant_ns(next), dropped)
        }
        // Two threads that changed the link at once may have set its timer too early. No refresh gets a second call.
        guard let (latest, latest_ns, next, next_ns, dropped) = found, latest > reported.number ?? .min else {
            // Or the frame of the waiting call is over, and the call for the next frame is still to come.
            if let waiting = waitingCall(now_ns) {
                drop(1)
                lost = waiting.number
            }
            return false
        }
        drop(dropped)
        self.due = next
        reported.turn(to: latest, latest_ns, next_ns, rate: divided)
        return true
    }

    /// Ends a call. Refreshes that passed during it have no call.
    mutating func endCall(_ now_ns: Int64) {
        if let called_ns = reported.called_ns { learned_ns = max(Double(now_ns - called_ns), learned_ns * 0.98) }
        // Recorded after the handler has returned; before it, recording would delay the handler.
        if let owed_ns = unrecordedLateness_ns.take() {
            if lateness == nil { lateness = LatencyHistogram() }
            lateness?.record(owed_ns as Int64)
        }
        guard !isPaused else { return }
        let (divisor, lead_ns) = (divisor, lead_ns)
        let next = source?.withTimeline { Self.next($0, now_ns, divisor, lead_ns) }
        guard let next, next - due >= divisor else { return }
        drop((next - due) / divisor)
        lost = next - divisor
    }

    /// Determines which refresh is due next, and returns the instant of its call; `.max` if there is none. With `keepsDue`, a
    /// refresh whose instant has come but which has had no call stays the due one.
    mutating func resolveNextCall(_ now_ns: Int64, keepsDue: Bool = false) -> Int64 {
        let waiting = keepsDue && timer != nil ? waitingCall(now_ns) : nil
        (ahead, isDue) = (nil, waiting != nil)
        guard !isPaused, let source else {
            (isDue, isResting) = (false, true)
            return .max
        }
        divide(source.framesPerSecond)
        let (divisor, lead_ns, over) = (divisor, lead_ns, max(reported.number ?? .min, lost))
        ahead = source.withTimeline { timeline in
            var number = waiting?.number ?? Self.next(timeline, now_ns, divisor, lead_ns)
            // With another lead, or interval, the frame of the latest called or dropped refresh may not have ended yet.
            if number <= over { number = Self.following(over, divisor) }
            let following = Self.following(number, divisor)
            let (refresh_ns, following_ns) = (timeline.instant_ns(number), timeline.instant_ns(following))
            let lateEnd_ns = divisor == 1 ? following_ns : timeline.instant_ns(number.addingSaturating(1))
            return Ahead(
                number: number,
                refresh_ns: refresh_ns,
                call_ns: waiting?.call_ns ?? lead_ns.map { max(refresh_ns, following_ns.subtractingSaturating($0)) }
                    ?? refresh_ns,
                end_ns: lead_ns == nil ? lateEnd_ns : following_ns,
                following: following,
                following_ns: following_ns
            )
        }
        guard let ahead else { return .max }
        if isResting, ahead.number > due { reported.rest() }
        isResting = false
        due = ahead.number
        return ahead.call_ns
    }

    /// Returns the call whose instant has come and which was not made yet; nil if there is none.
    private func waitingCall(_ now_ns: Int64) -> Ahead? {
        guard let ahead, !isPaused, ahead.call_ns <= now_ns, ahead.number > reported.number ?? .min else {
            return nil
        }
        return ahead
    }

    /// Returns the first refresh after `number` that is a multiple of `divisor`.
    private static func following(_ number: Int64, _ divisor: Int64) -> Int64 {
        let rest = number % divisor
        return number.addingSaturating(rest < 0 ? -rest : divisor - rest)
    }

    mutating func hold(_ isHeld: Bool) {
        if self.isHeld, !isHeld { reported.rest() }
        self.isHeld = isHeld
    }

    /// Returns the first refresh whose call is still to come. Without a lead this is the next refresh. With a lead it is the
    /// first refresh whose frame ends more than the lead after `now_ns`.
    private static func next(
        _ timeline: RefreshTimeline,
        _ now_ns: Int64,
        _ divisor: Int64,
        _ lead_ns: Int64?
    ) -> Int64 {
        guard let lead_ns else { return timeline.next(after: now_ns, divisor: divisor) }
        return timeline.next(after: now_ns.addingSaturating(lead_ns), divisor: divisor) - divisor
    }

    /// Counts the multiples of `divisor` from `due` up to, but not including, `latest`. Refreshes whose calls would have come
    /// in one of the intervals `without` do not count.
    private static func dropped(
        _ timeline: RefreshTimeline,
        from due: Int64,
        to latest: Int64,
        _ divisor: Int64,
        _ lead_ns: Int64?,
        _ without: [ClosedRange<Int64>]
    ) -> Int64 {
        var count = max(0, (latest - due) / divisor)
        for run_ns in without where count > 0 {
            let begin = max(due, next(timeline, run_ns.lowerBound, divisor, lead_ns))
            let end = min(latest, next(timeline, run_ns.upperBound, divisor, lead_ns))
            count -= max(0, (end - begin) / divisor)
        }
        return max(0, count)
    }

    // MARK: The request

    /// Computes the divisor again if the display's rate has changed by more than measuring changes it.
    private mutating func divide(_ framesPerSecond: Double) {
        if abs(framesPerSecond - divided) > 0.001 * framesPerSecond { mustDivide(framesPerSecond) }
    }

    mutating func mustDivide(_ framesPerSecond: Double? = nil) {
        divided = framesPerSecond ?? maximumFramesPerSecond
        divisor = request.divisor(of: divided)
    }

    /// How long before the end of its frame a call comes; nil if it comes at the frame's beginning.
    private var lead_ns: Int64? {
        guard let lead_ns = lead.nanoseconds(learned_ns: learned_ns) else { return nil }
        // A lead as long as the frame counts as no lead.
        return Double(lead_ns) < 0.99e9 * Double(divisor) / max(divided, 1e-3) ? lead_ns : nil
    }

    // MARK: The report

    private mutating func drop(_ count: Int64) {
        droppedFrames = Int(clamping: Int64(droppedFrames).addingSaturating(max(0, count)))
    }
}

extension LinkState {
    /// The values that a link reports about its present or latest call, and about all calls so far.
    struct Reported: Sendable {
        private(set) var timestamp_ns: Int64?
        private(set) var target_ns: Int64?
        private(set) var number: Int64?
        /// The time from the previous call's refresh to this call's; zero after a rest.
        private(set) var delta_ns: Int64 = 0
        /// When the call began.
        private(set) var called_ns: Int64?
        private(set) var rawDelta_ns: Int64 = 0
        private(set) var calls = 0
        private(set) var lateness_ns: Int64 = 0
        /// How often the link went without calls by intent, for example in a pause.
        private(set) var rests = 0
        /// The number of rests before the present or latest call.
        private var restsBefore = 0
        /// The display's rates at this call and at the one before.
        private var rates = (now: 0.0, before: 0.0)

        /// Whether the display's rate differs from its rate at the call before.
        var hasNewRate: Bool { abs(rates.now - rates.before) > 0.001 * rates.now }

        /// Records what is known of a call before it begins.
        mutating func turn(to number: Int64, _ timestamp_ns: Int64, _ target_ns: Int64, rate: Double) {
            let hasRested = rests != restsBefore
            restsBefore = rests
            if let before_ns = self.timestamp_ns {
                delta_ns = hasRested ? 0 : timestamp_ns.subtractingSaturating(before_ns)
            }
            (self.timestamp_ns, self.target_ns) = (timestamp_ns, target_ns)
            self.number = number
            rates = (rate, calls > 0 ? rates.now : rate)
            calls += 1
        }

        mutating func rest() { rests += 1 }

        mutating func begin(_ now_ns: Int64, due_ns: Int64?) {
            if let called_ns { rawDelta_ns = now_ns - called_ns }
            called_ns = now_ns
            if let due_ns { lateness_ns = now_ns - due_ns }
        }
    }
}
#endif
