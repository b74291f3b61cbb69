// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

/// The state of a `DisplayLink`; see there for the locks that guard it.
struct LinkState: Sendable {
    /// The link's handler; nil once the link is invalid.
    var handler: OwnerFunction?
    /// The rate of the link's virtual display; nil if a source was given or is still to be chosen.
    let rate: FrameRate?
    /// The source of the refreshes. If none was given, nil until the link is first added to a loop.
    private(set) var source: VsyncSource?
    /// Does the source's regular work, after each call; nil for a virtual display, which needs none.
    private(set) var tending: Callback?
    var request = RateRequest.none
    var lead = WakeLead.none
    var precision: TimerPrecision?
    var keepsLoopRunning = true
    var isPaused = false
    /// Whether the surface is hidden, and the source was told to make no calls then.
    private var isHeld = false

    /// The link is called for every `divisor`-th refresh. `divided` is the display's rate for which the divisor was computed.
    private(set) var divisor: Int64 = 1
    private var divided = 0.0
    /// The next refresh whose call is due. Earlier ones are not counted as dropped: the link had no call to make for them.
    private var due: Int64 = 0
    /// The latest refresh that was counted as dropped. It gets no call any more, even if, with a lead, its frame now ends
    /// later.
    private var lost = Int64.min
    /// The next call, computed before its refresh comes; nil if there is none. While the handler runs, the call that it is in,
    /// unless the link was changed since.
    private var ahead: Ahead?
    /// Whether there are no calls by intent: the link is paused, or in no loop.
    private var isResting = true
    private(set) var droppedFrames = 0
    /// The values that the link reports about its present or latest call.
    private(set) var reported = Reported()
    /// The histogram of the calls' lateness; nil before the first call.
    private(set) var lateness: LatencyHistogram?
    private var call = CallState.none
    /// How long the handler takes. It rises at once and falls slowly.
    private var learned_ns = 0.0

    /// The handlers that watch late calls; nil if there are none.
    var lateHandlers: LateHandlers?
    /// What is known of the call that waits for its actor; nil unless late calls are watched.
    var submitted: SubmittedCall?

    /// The time of the loop that the link is in, or was in last.
    private(set) var time = TimeBase.kernel
    private(set) weak var loop: TimerLoop?
    /// The modes for which the link was added to its loop; none if it is in no loop.
    var modes: Set<TimerLoop.Mode> = []
    /// An object that must live as long as the loop has the link.
    private var holder: (any AnyObject & Sendable)?

    private enum CallState: Sendable {
        case none
        /// The handler runs.
        case running
        /// The handler has returned, and the refreshes that passed meanwhile were not counted yet.
        case ended
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

    init(handler: @escaping DisplayLink.Handler, rate: FrameRate?, source: VsyncSource? = nil) {
        // Safe: the core passes the owner, which is the link.
        self.handler = OwnerFunction { link in unsafe handler(unsafeDowncast(link, to: DisplayLink.self)) }
        self.rate = rate
        self.source = source
    }

    /// The display's rate.
    var maximumFramesPerSecond: Double { source?.framesPerSecond ?? (rate ?? .standard).framesPerSecond }

    // MARK: The loop

    /// Begins the refreshes of the link's source, or of `chosen` if it has none. Returns false if they are on another clock.
    mutating func begin(_ link: DisplayLink, _ chosen: VsyncSource, _ time: TimeBase) -> Bool {
        let source = source ?? chosen
        self.source = source
        if tending == nil, source.kind != .virtual {
            tending = Callback { [weak link] in
                if let link { source.tend(after: link) }
            }
        }
        return source.begin(time, now_ns: time.now_ns)
    }

    mutating func enter(_ loop: TimerLoop, _ mode: TimerLoop.Mode, holder: (any AnyObject & Sendable)?) {
        (self.loop, time, modes, self.holder) = (loop, loop.time, [mode], holder)
        if call == .ended { call = .none }
    }

    /// Ends the stay in a loop. Returns what the loop held for the link, which the caller must release without a lock.
    mutating func leave() -> AnyObject? {
        (ahead, isResting, modes, submitted) = (nil, true, [], nil)
        return holder.take()
    }

    // MARK: A call

    /// The instant of the next call; `Int64.max` if there is none.
    var nextCall_ns: Int64 { ahead?.call_ns ?? .max }

    private var canBeCalled: Bool { handler != nil && !isPaused && !isHeld }

    /// Begins the call for a refresh whose frame is not over. Returns false if it is not on time, or if no handler may be called.
    mutating func beginCallOnTime(_ now_ns: Int64) -> Bool {
        guard canBeCalled, let ahead, ahead.call_ns <= now_ns, now_ns < ahead.end_ns else { return false }
        (due, call) = (ahead.following, .running)
        reported.begin(now_ns, ahead.number, ahead.refresh_ns, ahead.following_ns, due_ns: ahead.call_ns, rate: divided)
        return true
    }

    /// Begins the call for the latest refresh. Returns false if no handler may be called, or if there is no refresh to call it for.
    /// Refreshes that passed while the loop ran in modes without the link, in the intervals `without`, needed no call.
    mutating func beginCall(_ now_ns: Int64, without: () -> [ClosedRange<Int64>]) -> Bool {
        if beginCallOnTime(now_ns) { return true }
        guard canBeCalled else { return false }
        let (divisor, lead_ns, due, without) = (divisor, lead_ns, due, without())
        let found = source?.withTimeline { timeline, _ in
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
        (self.due, call) = (next, .running)
        // If another thread has changed the link since the refresh, `ahead` is for a later one.
        let due_ns = nextCall_ns <= now_ns ? nextCall_ns : latest_ns
        reported.begin(now_ns, latest, latest_ns, next_ns, due_ns: due_ns, rate: divided)
        return true
    }

    /// Ends a call, if one has begun. `resolveNextCall` comes next if the link is in a loop.
    mutating func endCall(_ now_ns: Int64) {
        // A call that was held back does not wait any more either.
        ahead = nil
        source?.follow()
        guard call == .running else { return }
        call = .ended
        if let called_ns = reported.called_ns { learned_ns = max(Double(now_ns - called_ns), learned_ns * 0.98) }
        // Recorded after the handler has returned; before it, recording would delay the handler.
        if lateness == nil { lateness = LatencyHistogram() }
        lateness?.record(reported.lateness_ns)
    }

    /// Determines which refresh is due next, and returns the instant of its call: `.max` if there is none; nil if a refresh whose
    /// instant has come, but which has had no call, stays the due one.
    mutating func resolveNextCall(_ now_ns: Int64) -> Int64? {
        let waiting = waitingCall(now_ns)
        let hasEnded = call == .ended
        if hasEnded { call = .none }
        ahead = nil
        guard !isPaused, let source else {
            isResting = true
            return .max
        }
        source.withTimeline { timeline, framesPerSecond in
            if hasEnded { dropPassed(timeline, now_ns) }
            divide(framesPerSecond)
            ahead = planned(timeline, now_ns, waiting)
        }
        guard let ahead else { return .max }
        if isResting, ahead.number > due { reported.rest() }
        isResting = false
        due = ahead.number
        return waiting == nil ? ahead.call_ns : nil
    }

    /// Drops the refreshes that passed during a call.
    private mutating func dropPassed(_ timeline: RefreshTimeline, _ now_ns: Int64) {
        let next = Self.next(timeline, now_ns, divisor, lead_ns)
        guard next - due >= divisor else { return }
        drop((next - due) / divisor)
        lost = next - divisor
    }

    private func planned(_ timeline: RefreshTimeline, _ now_ns: Int64, _ waiting: Ahead?) -> Ahead {
        let (lead_ns, over) = (lead_ns, max(reported.number ?? .min, lost))
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

        /// Turns to the call that begins at `now_ns`, and is late if that is after `due_ns`.
        mutating func begin(
            _ now_ns: Int64,
            _ number: Int64,
            _ timestamp_ns: Int64,
            _ target_ns: Int64,
            due_ns: Int64,
            rate: Double
        ) {
            let hasRested = rests != restsBefore
            restsBefore = rests
            if let before_ns = self.timestamp_ns {
                delta_ns = hasRested ? 0 : timestamp_ns.subtractingSaturating(before_ns)
            }
            (self.timestamp_ns, self.target_ns) = (timestamp_ns, target_ns)
            self.number = number
            rates = (rate, calls > 0 ? rates.now : rate)
            calls += 1
            called_ns = now_ns
            lateness_ns = now_ns - due_ns
        }

        mutating func rest() { rests += 1 }
    }
}
#endif
