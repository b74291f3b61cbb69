#if os(Linux)
import CHRTimer
import Synchronization

/// An observer of a thread that fires timers, which explains the late fires. An engine and a loop have one each, made when
/// somebody first watches; before that a fire reads one flag.
///
/// The thread tells it when it parks, wakes and calls, and alone uses what the observer keeps of that. Handlers and statistics
/// are under locks, since sources, links and ticks report calls that were made elsewhere.
package final class LatenessObserver: @unchecked Sendable {
    // Sendable: only the driver's thread touches `own`, on virtual time one thread at a time; the rest is constant, atomic or
    // locked.
    package let name: String
    /// The driver's clock, and the monotonic clock of the same time base.
    private let clock: TimeBase
    private let time: TimeBase
    private let isLoop: Bool
    private let hasCounts: Bool
    @exclusivity(unchecked)
    // Unsafe: only the driver's thread touches it, as above.
    nonisolated(unsafe) private var own = Own()
    private let handlers = LateHandlers()
    private let shared = Locked(Shared())
    // Unsafe: `shared` keeps the reference as long as this object exists.
    private let recorder = Atomic<UnsafeRawPointer?>(nil)

    private struct Own: ~Copyable {
        var timeline = ThreadTimeline()
        var evidence = ThreadEvidence()
        /// When the thread began to sleep.
        var parked_ns: Int64?
        /// When the thread last woke.
        var woke_ns = Int64.min
        /// The call that is running.
        var call: WatchedCall?
        /// How far the driver's clock, and boot time, were ahead of the monotonic clock.
        var ahead_ns: Int64 = 0
        var bootAhead_ns: Int64 = 0
    }

    private struct Shared: Sendable {
        var recorders: [FlightRecorder] = []
        var armed_ns: [UInt32: (generation: UInt32, at_ns: Int64)] = [:]
    }

    package init(name: String, clock: TimeBase, isLoop: Bool) {
        self.name = name
        self.clock = clock
        time = clock.on(.monotonic)
        self.isLoop = isLoop
        hasCounts = clock.hasKernelCounts
        let now_ns = time.now_ns
        own.ahead_ns = clock.now_ns.subtractingSaturating(now_ns)
        own.bootAhead_ns = bootAhead_ns(now_ns)
    }
}

/// A call that is running. Instants are on the monotonic clock.
package struct WatchedCall: Sendable {
    package var fire: LateFire
    package var timer: TimerToken
    /// Whether the kernel's counts were read for it.
    var hasEvidence = false
    /// Whether the call only submits the handler's, which reports by itself.
    var isElsewhere = false
}

// Any thread.
extension LatenessObserver {
    package func add(
        beyond bound_ns: Int64,
        _ handler: @escaping @Sendable (LatenessReport) -> Void
    ) -> LatenessSubscription {
        handlers.add(beyond: bound_ns, handler)
    }

    /// From now on explains fires that are later than `bound_ns`.
    package func lowerBound(to bound_ns: Int64) { handlers.lowerBound(to: bound_ns) }

    package var statistics: LatenessStatistics { handlers.statistics }

    package var flightRecorder: FlightRecorder? {
        get {
            guard let current = recorder.load(ordering: .acquiring) else { return nil }
            // Unsafe: see `recorder`.
            return Unmanaged<FlightRecorder>.fromOpaque(current).takeUnretainedValue()
        }
        set {
            guard let newValue else { return recorder.store(nil, ordering: .releasing) }
            shared.withLock { if !$0.recorders.contains(where: { $0 === newValue }) { $0.recorders.append(newValue) } }
            recorder.store(UnsafeRawPointer(Unmanaged.passUnretained(newValue).toOpaque()), ordering: .releasing)
            lowerBound(to: newValue.bound_ns)
        }
    }

    package func noteArmed(_ timer: TimerToken, _ now_ns: Int64) {
        shared.withLock { $0.armed_ns[timer.slot] = (timer.generation, now_ns) }
        record(.arm, timer, now_ns, now_ns, 0)
    }

    /// Counts a call that was late, wherever it was made, and tells those who watch.
    package func report(_ call: LateCall, _ explanation: LatenessExplanation) {
        let lateness_ns = explanation.parts.lateness_ns
        guard isLate(lateness_ns) else { return }
        hrt_probe_late(call.timer.slot, lateness_ns, UInt32(explanation.parts.largest.number))
        recordLate(call, explanation.parts)
        handlers.call(explanation.parts) { LatenessReport(call, explanation) }
    }

    package func isLate(_ lateness_ns: Int64) -> Bool { handlers.isLate(lateness_ns) }

    /// Explains a call on a queue, an actor or by a task that is about to begin: by what happened before it was submitted, and
    /// by its wait there. Returns nil if the call is not late beyond the bounds. The caller reports the result after the
    /// handler.
    package func delivery(
        _ submitted: SubmittedCall,
        deadline_ns: Int64,
        name: @autoclosure () -> String,
        timer: TimerToken,
        bound_ns: Int64 = .max
    ) -> LateDelivery? {
        let called_ns = clock.now_ns
        let ahead_ns = clock.clock == .monotonic ? 0 : time.now_ns.subtractingSaturating(called_ns)
        let monotonic_ns = called_ns.addingSaturating(ahead_ns)
        record(.delivery, timer, min(submitted.submitted_ns, monotonic_ns), monotonic_ns, 0)
        let lateness_ns = called_ns.subtractingSaturating(deadline_ns)
        guard isLate(lateness_ns) || lateness_ns > bound_ns else { return nil }
        var call = LateCall(name: name(), called_ns: monotonic_ns)
        call.timer = timer
        let explanation = submitted.explained(deadline_ns.addingSaturating(ahead_ns), monotonic_ns)
        return LateDelivery(call: call, explanation: explanation)
    }
}

/// A late call that was made elsewhere than on the thread that fires.
package struct LateDelivery: Sendable {
    package var call: LateCall
    package let explanation: LatenessExplanation

    package init(call: LateCall, explanation: LatenessExplanation) {
        (self.call, self.explanation) = (call, explanation)
    }

    package var lateness_ns: Int64 { explanation.parts.lateness_ns }
    package var report: LatenessReport { LatenessReport(call, explanation) }
}

/// What is known of a call when it is submitted to a queue, loop, actor or task. Instants are on the monotonic clock.
package struct SubmittedCall: Sendable {
    package var submitted_ns: Int64
    /// Why the call was submitted late, if it was.
    package var explanation: LatenessExplanation?
    /// The cause of what `explanation` does not account for in a late submission.
    package var cause = LatenessCause.wakeup

    package init(submitted_ns: Int64) { self.submitted_ns = submitted_ns }

    /// Returns the explanation with the wait since the submission added.
    package func explained(_ deadline_ns: Int64, _ called_ns: Int64) -> LatenessExplanation {
        let submitted_ns = min(submitted_ns, called_ns)
        var result = explanation ?? LatenessExplanation(parts: LatenessParts(0))
        let before_ns = max(0, submitted_ns.subtractingSaturating(deadline_ns))
        if result.parts.lateness_ns != before_ns {
            // The submission was not late beyond the bound, or the lateness counts from another deadline now.
            var parts = LatenessParts(before_ns)
            for cause in LatenessCause.allCases { parts.take(result.parts[cause], for: cause) }
            parts.take(parts.rest_ns, for: cause)
            result.parts = parts
        }
        result.parts.add(called_ns.subtractingSaturating(max(deadline_ns, submitted_ns)), for: .delivery)
        return result
    }
}

// The driver's thread.
extension LatenessObserver {
    /// Notes that the thread is about to sleep as `park` says, on its own clock.
    package func willPark(_ park: Park) {
        let now_ns = time.now_ns
        own.parked_ns = now_ns
        if hasCounts { own.evidence.willPark(now_ns, isPrecise: park.isPrecise) }
        noteClocks(now_ns)
    }

    /// Notes that the thread is awake again, after it had parked as `park` says.
    package func didWake(from park: Park) {
        let now_ns = time.now_ns
        let parked_ns = own.parked_ns.take()
        own.woke_ns = now_ns
        // The thread may have parked before anybody watched.
        if parked_ns == nil, !own.timeline.isEmpty { return }
        let planned_ns = park.until_ns < .max ? park.until_ns.subtractingSaturating(own.ahead_ns) : .max
        own.timeline.add(.parked, parked_ns ?? .min, now_ns, planned_ns: planned_ns)
        guard let parked_ns else { return }
        if hasCounts { own.evidence.didWake(parked_ns: now_ns.subtractingSaturating(parked_ns)) }
        record(.park, .stale, parked_ns, now_ns, planned_ns)
    }

    /// Reads the differences of the clocks, which only steps and suspension change. Called where nobody waits for it.
    private func noteClocks(_ now_ns: Int64) {
        if clock.clock == .monotonic { return }
        own.ahead_ns = clock.now_ns.subtractingSaturating(now_ns)
        own.bootAhead_ns = bootAhead_ns(now_ns)
    }

    private func bootAhead_ns(_ now_ns: Int64) -> Int64 { time.on(.bootTime).now_ns.subtractingSaturating(now_ns) }

    /// Notes how far the clock was set ahead since the thread parked, and how long the system was suspended.
    private func followClocks(_ call: inout WatchedCall, _ ahead_ns: Int64) {
        if clock.clock == .monotonic { return }
        let (before_ns, bootBefore_ns) = (own.ahead_ns, own.bootAhead_ns)
        // Two readings in a row differ by less than a microsecond, unless the thread is interrupted between them.
        call.fire.suspended_ns = max(0, bootAhead_ns(time.now_ns).subtractingSaturating(bootBefore_ns) - 1_000)
        if clock.clock == .bootTime { return }
        call.fire.step_ns =
            ahead_ns.subtractingSaturating(before_ns).subtractingSaturating(call.fire.suspended_ns) - 1_000
    }

    /// Begins a call, right before its handler. `tolerance_ns` is called for late fires only.
    package func beginCall(_ fire: borrowing Fire, _ now_ns: Int64, tolerance_ns: () -> Int64) {
        let ahead_ns = clock.clock == .monotonic ? 0 : now_ns.subtractingSaturating(time.now_ns)
        // A deadline before the clock's zero means "now": such a timer is not late before it was armed.
        let deadline_ns = fire.deadline_ns < 0 ? max(fire.deadline_ns, fire.lateFrom_ns) : fire.deadline_ns
        var call = WatchedCall(
            fire: LateFire(
                deadline_ns: deadline_ns.subtractingSaturating(ahead_ns),
                lateFrom_ns: fire.lateFrom_ns.subtractingSaturating(ahead_ns),
                called_ns: now_ns.subtractingSaturating(ahead_ns)
            ),
            timer: fire.token
        )
        call.fire.isLoop = isLoop
        let lateness_ns = now_ns.subtractingSaturating(deadline_ns)
        if isLate(lateness_ns), !fire.isEarly {
            call.fire.tolerance_ns = tolerance_ns()
            followClocks(&call, ahead_ns)
            takeEvidence(&call)
        } else {
            own.evidence.notePunctual(lateness_ns)
        }
        if fire.isBeforeDeadline, !fire.isEarly, own.woke_ns > .min {
            record(.spin, fire.token, own.woke_ns, call.fire.called_ns, 0)
        }
        if let owner = fire.owner {
            let submitted = SubmittedCall(submitted_ns: call.fire.called_ns)
            call.isElsewhere = owner.notesSubmission {
                var submitted = submitted
                if call.hasEvidence { submitted.explanation = call.fire.explained(by: own.timeline) }
                return submitted
            }
        }
        own.call = call
    }

    private func takeEvidence(_ call: inout WatchedCall) {
        call.hasEvidence = true
        if hasCounts { call.fire.evidence = own.evidence.take(call.fire.called_ns, since: call.fire.lateFrom_ns) }
    }

    /// Ends a call whose handler has returned, at `ended_ns` on the monotonic clock.
    package func endCall(_ fire: borrowing Fire, _ ended_ns: Int64, tolerance_ns: () -> Int64) {
        guard var call = own.call.take() else { return }
        if fire.isBeforeDeadline { call.fire.called_ns = max(call.fire.called_ns, called_ns(fire)) }
        let lateness_ns = call.fire.called_ns.subtractingSaturating(call.fire.deadline_ns)
        let isReported = isLate(lateness_ns) && !fire.isEarly && !call.isElsewhere
        if isReported, !call.hasEvidence {
            call.fire.tolerance_ns = tolerance_ns()
            takeEvidence(&call)
        }
        var explained: LatenessExplanation?
        var late = LateCall(name: name, called_ns: call.fire.called_ns)
        if isReported {
            late.isThrottled = takeSlowEvidence(&call.fire, ended_ns)
            late.missedTicks = fire.missedTicks
            explained = call.fire.explained(by: own.timeline)
            late.timer = call.timer
            late.armed_ns = armed_ns(call.timer)
        }
        own.timeline.add(.called, call.fire.called_ns, ended_ns, .max, call.timer)
        own.evidence.noteCall(of: ended_ns.subtractingSaturating(call.fire.called_ns))
        record(.call, call.timer, call.fire.called_ns, ended_ns, call.fire.deadline_ns)
        if let explained { report(late, explained) }
    }

    /// Takes the kernel's counts that are slow to read, if the fire is late enough. Returns whether the thread was throttled.
    private func takeSlowEvidence(_ fire: inout LateFire, _ now_ns: Int64) -> Bool {
        guard hasCounts, fire.called_ns.subtractingSaturating(fire.deadline_ns) >= LateFire.longestWakeup_ns else {
            return false
        }
        let slow = own.evidence.takeSlow(now_ns)
        fire.evidence.stolen_ns = slow.stolen_ns
        fire.evidence.throttled_ns = slow.throttled_ns
        return slow.throttled_ns > 0
    }

    /// Reports ticks that policies left out, each as late as it was then. Between two calls, or before the thread parks.
    package func reportLeftOut(_ ticks: [LeftOutTick]) {
        for tick in ticks {
            if let late = reportLeftOut(tick) { tick.owner?.tickWasLeftOut(late) }
        }
    }

    private func reportLeftOut(_ tick: LeftOutTick) -> LateDelivery? {
        let ahead_ns = clock.clock == .monotonic ? 0 : clock.now_ns.subtractingSaturating(time.now_ns)
        // As in `beginCall`: a deadline before the clock's zero means "now".
        let deadline_ns = tick.deadline_ns < 0 ? max(tick.deadline_ns, tick.lateFrom_ns) : tick.deadline_ns
        let fire = LateFire(
            deadline_ns: deadline_ns.subtractingSaturating(ahead_ns),
            lateFrom_ns: tick.lateFrom_ns.subtractingSaturating(ahead_ns),
            called_ns: tick.leftOut_ns.subtractingSaturating(ahead_ns)
        )
        guard isLate(fire.called_ns.subtractingSaturating(fire.deadline_ns)) else { return nil }
        var call = WatchedCall(fire: fire, timer: tick.timer)
        call.fire.isLoop = isLoop
        call.fire.tolerance_ns = tick.tolerance_ns
        followClocks(&call, ahead_ns)
        takeEvidence(&call)
        var late = LateCall(name: name, called_ns: call.fire.called_ns)
        late.isThrottled = takeSlowEvidence(&call.fire, call.fire.called_ns)
        late.timer = tick.timer
        late.armed_ns = armed_ns(tick.timer)
        late.missedTicks = tick.missedTicks
        late.isLeftOut = true
        let explained = call.fire.explained(by: own.timeline)
        report(late, explained)
        return LateDelivery(call: late, explanation: explained)
    }

    private func called_ns(_ fire: borrowing Fire) -> Int64 {
        if clock.clock == .monotonic { return fire.called_ns }
        return fire.called_ns.subtractingSaturating(clock.now_ns.subtractingSaturating(time.now_ns))
    }

    private func armed_ns(_ timer: TimerToken) -> Int64? {
        let noted = shared.withLock { $0.armed_ns[timer.slot] }
        let ended_ns = own.timeline.endOfLatestCall(of: timer)
        guard let noted, noted.generation == timer.generation else { return ended_ns }
        return max(noted.at_ns, ended_ns ?? .min)
    }

    /// Returns why the running call is late; nil if it is not. To be called inside its handler.
    package func explainLateCall() -> LatenessExplanation? {
        guard let call = own.call, call.hasEvidence else { return nil }
        return call.fire.explained(by: own.timeline)
    }

    /// Returns why the running call is late, counted from `deadline_ns` instead of the fire's own deadline, and when it was
    /// called on the monotonic clock. Both arguments are on the driver's clock. To be called inside the handler.
    package func explainCurrent(deadline_ns: Int64, called_ns: Int64) -> (called_ns: Int64, LatenessExplanation) {
        let ahead_ns = clock.clock == .monotonic ? 0 : clock.now_ns.subtractingSaturating(time.now_ns)
        let deadline_ns = deadline_ns.subtractingSaturating(ahead_ns)
        let called_ns = called_ns.subtractingSaturating(ahead_ns)
        var fire = own.call?.fire ?? LateFire(deadline_ns: deadline_ns, called_ns: called_ns)
        if own.call?.hasEvidence == false, hasCounts {
            fire.evidence = own.evidence.take(called_ns, since: max(deadline_ns, fire.lateFrom_ns))
            own.call?.hasEvidence = true
            own.call?.fire.evidence = fire.evidence
        }
        fire.deadline_ns = deadline_ns
        fire.lateFrom_ns = max(deadline_ns, fire.lateFrom_ns)
        fire.called_ns = called_ns
        return (called_ns, fire.explained(by: own.timeline))
    }
}

// The flight recorder, if there is one.
extension LatenessObserver {
    /// Any thread.
    package func record(
        _ kind: FlightRecorder.Kind,
        _ timer: TimerToken,
        _ begin_ns: Int64,
        _ end_ns: Int64,
        _ value: Int64
    ) {
        guard let recorder = recorder.load(ordering: .acquiring) else { return }
        // Unsafe: see `recorder`.
        let flight = Unmanaged<FlightRecorder>.fromOpaque(recorder)
        flight._withUnsafeGuaranteedRef { $0.add(kind, timer, begin_ns, end_ns, value) }
    }

    private func recordLate(_ call: LateCall, _ parts: LatenessParts) {
        guard let recorder = recorder.load(ordering: .acquiring) else { return }
        let flight = Unmanaged<FlightRecorder>.fromOpaque(recorder)
        flight._withUnsafeGuaranteedRef { $0.addLate(call, parts) }
    }
}
#endif
