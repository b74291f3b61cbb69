#if os(Linux)
import HRTimerCore

/// The state of a `DisplayLink`, under its lock.
struct LinkState: Sendable {
    /// Nil once the link is invalid.
    var handler: DisplayLink.Handler?
    /// Nil for a handler that is called on the loop's thread.
    let delivery: Delivery?
    /// What a virtual display is to have; nil if a source was given, or is to be found.
    let rate: FrameRate?
    /// Nil until the link is first added to a loop, if none was given.
    var source: VsyncSource?
    var request = RateRequest.none
    var lead = WakeLead.none
    var precision: TimerPrecision?
    var keepsLoopRunning = true
    var isPaused = false
    /// The surface is hidden, and the source was asked to have no calls then.
    var isHeld = false

    /// Every which refresh has a call, and for which rate of the display that was worked out.
    private(set) var divisor: Int64 = 1
    private var divided = 0.0
    /// Refreshes before this one do not count as dropped: there was nobody to call.
    private var due: Int64 = 0
    /// The latest that was counted as dropped. It has no call any more, though with a lead the end of its frame may be put off.
    private var lost = Int64.min
    /// What a call in time will need, worked out before the refresh comes.
    private var ahead: Ahead?
    /// That call is due, and its timer set to it.
    private(set) var isDue = false
    /// There are no calls, by intent: the link is paused, or in no loop.
    private var isResting = true
    private(set) var droppedFrames = 0
    /// Of the present or latest call.
    private(set) var reported = Reported()
    /// Made by the first call.
    private(set) var lateness: LatencyHistogram?
    /// Of the call that runs, to be recorded when it has returned.
    private var unrecordedLateness_ns: Int64?
    /// How long the handler takes: falls slowly, rises at once.
    private var learned_ns = 0.0

    /// Who watches its late calls; nil if nobody does.
    var lateHandlers: LateHandlers?
    /// What is known of the call that waits for its actor, if its loop is watched.
    var submitted: SubmittedCall?

    /// How often what decides about the next call was changed.
    var changes: UInt = 0
    /// That of the loop it is in or was in last.
    var time = TimeBase.kernel
    private(set) var timer: LoopTimer?
    /// How often it was put into a loop.
    private(set) var stays: UInt = 0
    weak var loop: TimerLoop?
    var modes: Set<TimerLoop.Mode> = []

    /// To the actor of the handler: calls that wait for it are one.
    struct Delivery: Sendable {
        let actor: any Actor
        let calls = ActorCalls(merges: true)
    }

    /// A call that is made before another refresh has come: divisions of 128 bits that it need not do then.
    private struct Ahead: Sendable {
        let number: Int64
        let refresh_ns: Int64
        /// When it is to come: the refresh, or later, for the lead's sake.
        let call_ns: Int64
        /// From when on it is late.
        let end_ns: Int64
        /// The next that has a call.
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

    /// Of the display.
    var maximumFramesPerSecond: Double { source?.framesPerSecond ?? (rate ?? .standard).framesPerSecond }

    // MARK: The loop

    /// The number of a stay that begins.
    mutating func nextStay() -> UInt {
        stays &+= 1
        return stays
    }

    mutating func enter(_ timer: LoopTimer) { self.timer = timer }

    /// Gives the timer, to be let go without the lock.
    mutating func leave() -> LoopTimer? {
        (ahead, isDue, isResting, modes) = (nil, false, true, [])
        return timer.take()
    }

    // MARK: A call

    /// One due refresh: false if there is nobody to call, or nothing to call for.
    mutating func beginCall(_ now_ns: Int64) -> Bool {
        guard handler != nil, !isPaused, !isHeld else { return false }
        if let ahead, ahead.call_ns <= now_ns, now_ns < ahead.end_ns {
            reported.turn(to: ahead.number, ahead.refresh_ns, ahead.following_ns, rate: divided)
            due = ahead.following
        } else if !beginLateCall(now_ns) {
            return false
        }
        // Rescheduled by another thread since the refresh, it is for a later one.
        reported.begin(
            now_ns,
            due_ns: ahead.flatMap { $0.call_ns <= now_ns ? $0.call_ns : reported.timestamp_ns }
        )
        if ahead != nil { unrecordedLateness_ns = reported.lateness_ns }
        return true
    }

    private mutating func beginLateCall(_ now_ns: Int64) -> Bool {
        let (divisor, lead_ns, due) = (divisor, lead_ns, due)
        // What passed while the loop ran in other modes was not to be called.
        let without = loop.flatMap { loop in timer.map { loop.runsWithout($0, now_ns: now_ns) } } ?? []
        let found = source?.withTimeline { timeline in
            let next = Self.next(timeline, now_ns, divisor, lead_ns)
            let latest = lead_ns == nil ? timeline.number(at: now_ns) : next - divisor
            let dropped = Self.dropped(timeline, from: due, to: latest, divisor, lead_ns, without)
            return (latest, timeline.instant_ns(latest), next, timeline.instant_ns(next), dropped)
        }
        // Two threads that changed the link at once may have set its timer too early: no refresh is called for twice.
        guard let (latest, latest_ns, next, next_ns, dropped) = found, latest > reported.number ?? .min else {
            // Or the frame is over that the call was for, and the next one's call still to come.
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

    /// What passed during the call has no call.
    mutating func endCall(_ now_ns: Int64) {
        if let called_ns = reported.called_ns { learned_ns = max(Double(now_ns - called_ns), learned_ns * 0.98) }
        // Now and not before the call, which would come later by as long as it takes.
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

    /// Sets which refresh is due next, and gives the instant of its call. If it `keepsDue`, one whose instant has come, and which
    /// has had no call, stays that.
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
            // With another lead, or interval, its frame may not have ended yet.
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

    /// The call whose instant has come, and which was not made yet.
    private func waitingCall(_ now_ns: Int64) -> Ahead? {
        guard let ahead, !isPaused, ahead.call_ns <= now_ns, ahead.number > reported.number ?? .min else {
            return nil
        }
        return ahead
    }

    /// The first after `number` that `divisor` divides.
    private static func following(_ number: Int64, _ divisor: Int64) -> Int64 {
        let rest = number % divisor
        return number.addingSaturating(rest < 0 ? -rest : divisor - rest)
    }

    mutating func hold(_ isHeld: Bool) {
        if self.isHeld, !isHeld { reported.rest() }
        self.isHeld = isHeld
    }

    /// The first refresh whose call is still to come: the next, or with a lead the one before that for whose end there is
    /// time.
    private static func next(
        _ timeline: RefreshTimeline,
        _ now_ns: Int64,
        _ divisor: Int64,
        _ lead_ns: Int64?
    ) -> Int64 {
        guard let lead_ns else { return timeline.next(after: now_ns, divisor: divisor) }
        return timeline.next(after: now_ns.addingSaturating(lead_ns), divisor: divisor) - divisor
    }

    /// Of the refreshes from `due` on, and before `latest`, those that `divisor` divides, except those whose calls were to come in
    /// `without`.
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

    // MARK: What is requested

    /// Works the divisor out, if the display's rate has changed by more than measuring it does.
    private mutating func divide(_ framesPerSecond: Double) {
        if abs(framesPerSecond - divided) > 0.001 * framesPerSecond { mustDivide(framesPerSecond) }
    }

    mutating func mustDivide(_ framesPerSecond: Double? = nil) {
        divided = framesPerSecond ?? maximumFramesPerSecond
        divisor = request.divisor(of: divided)
    }

    /// How long before the end of its frame a call comes; nil for at its beginning.
    private var lead_ns: Int64? {
        guard let lead_ns = lead.nanoseconds(learned_ns: learned_ns) else { return nil }
        // A lead as long as the frame is none.
        return Double(lead_ns) < 0.99e9 * Double(divisor) / max(divided, 1e-3) ? lead_ns : nil
    }

    // MARK: What is reported

    private mutating func drop(_ count: Int64) {
        droppedFrames = Int(clamping: Int64(droppedFrames).addingSaturating(max(0, count)))
    }
}

extension LinkState {
    /// What a link reports of its present or latest call, and of all so far.
    struct Reported: Sendable {
        private(set) var timestamp_ns: Int64?
        private(set) var target_ns: Int64?
        private(set) var number: Int64?
        /// From the refresh of the call before.
        private(set) var delta_ns: Int64 = 0
        /// When it began.
        private(set) var called_ns: Int64?
        private(set) var rawDelta_ns: Int64 = 0
        private(set) var calls = 0
        private(set) var lateness_ns: Int64 = 0
        /// How often refreshes had no call by intent, as in a pause.
        private(set) var rests = 0
        /// Of the display, at this call and the one before.
        private var rates = (now: 0.0, before: 0.0)

        /// Whether the display has another rate than at the call before.
        var hasNewRate: Bool { abs(rates.now - rates.before) > 0.001 * rates.now }

        /// What is known of a call before it begins.
        mutating func turn(to number: Int64, _ timestamp_ns: Int64, _ target_ns: Int64, rate: Double) {
            if let before_ns = self.timestamp_ns { delta_ns = timestamp_ns.subtractingSaturating(before_ns) }
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
