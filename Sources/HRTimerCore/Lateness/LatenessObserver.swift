// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import Synchronization

/// The observer that explains late fires, reports them, and feeds the flight recorder. An engine and a loop have one each, made
/// when somebody first wants reports.
///
/// The driver's thread tells it when it parks, wakes and calls, and alone uses what the observer keeps of that. Handlers and
/// statistics are under locks, since sources, links and ticks report calls that were made elsewhere.
@safe package final class LatenessObserver: FireObserver, @unchecked Sendable {
    // Sendable: only the driver's thread touches `own`, on virtual time one thread at a time; the rest is constant, atomic or
    // locked.
    private let name: String
    /// The driver's clock, and the monotonic clock of the same time base.
    private let clock: TimeBase
    private let time: TimeBase
    private let isLoop: Bool
    private let hasCounts: Bool
    /// Who watches the driver besides.
    private let other: (any FireObserver)?
    @exclusivity(unchecked)
    // Safe: only the driver's thread touches it, as above.
    @safe nonisolated(unsafe) private var own = Own()
    private let handlers = LateHandlers()
    private let shared = Locked(Shared())
    // Safe: `shared` keeps the recorder as long as this object exists.
    @safe private let recorder = unsafe Atomic<Unmanaged<FlightRecorder>?>(nil)

    private struct Own: ~Copyable {
        var timeline = ThreadTimeline()
        var evidence = ThreadEvidence()
        /// When the thread began to sleep.
        var parked_ns: Int64?
        /// When the thread last woke.
        var woke_ns = Int64.min
        /// The call that is running.
        var call: Call?
        /// How far the driver's clock, and boot time, were ahead of the monotonic clock when the thread parked.
        var ahead_ns: Int64 = 0
        var bootAhead_ns: Int64 = 0
    }

    /// A call that is running.
    private struct Call {
        var fire: LateFire
        /// Whether it is late, and the kernel's counts were read for it.
        var hasEvidence = false
        /// Whether it only submits the handler's call, which reports by itself.
        var isElsewhere = false
    }

    private struct Shared: Sendable {
        var recorders: [FlightRecorder] = []
        var armed_ns: [UInt32: (generation: UInt32, at_ns: Int64)] = [:]
    }

    init(name: String, clock: TimeBase, isLoop: Bool, beside other: (any FireObserver)?) {
        (self.name, self.isLoop, self.other) = (name, isLoop, other)
        self.clock = clock
        time = clock.on(.monotonic)
        hasCounts = clock.hasKernelCounts
        own.ahead_ns = ahead_ns
        own.bootAhead_ns = bootAhead_ns
    }
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
        get { unsafe recorder.load(ordering: .acquiring)?.takeUnretainedValue() }
        set {
            guard let newValue else { return unsafe recorder.store(nil, ordering: .releasing) }
            shared.withLock { if !$0.recorders.contains(where: { $0 === newValue }) { $0.recorders.append(newValue) } }
            unsafe recorder.store(Unmanaged.passUnretained(newValue), ordering: .releasing)
            lowerBound(to: newValue.bound_ns)
        }
    }

    package func noteArmed(_ timer: TimerToken) {
        let now_ns = time.now_ns
        shared.withLock { $0.armed_ns[timer.slot] = (timer.generation, now_ns) }
        record(.arm, timer, now_ns, now_ns, 0)
    }

    /// Counts a call that was late, wherever it was made, and tells those who watch.
    package func report(_ call: LateCall) {
        let parts = call.explanation.parts
        guard isLate(parts.lateness_ns) else { return }
        hrt_probe_late(call.timer.slot, parts.lateness_ns, UInt32(parts.largest.number))
        flightRecorder?.addLate(call)
        handlers.call(call)
    }

    /// Explains a call of a source, a link or a task that is about to begin; its instants are on the driver's clock. If it was
    /// submitted, it is late by what happened before, and by its wait; otherwise it is in the driver's running call, on that thread.
    /// Returns nil if it is not late beyond the bounds. The caller reports the result after the handler.
    package func explain(
        _ submitted: SubmittedCall?,
        of timer: TimerToken = .stale,
        deadline_ns: Int64,
        called_ns: Int64
    ) -> LateCall? {
        let ahead_ns = ahead_ns
        let called_ns = called_ns.subtractingSaturating(ahead_ns)
        let deadline_ns = deadline_ns.subtractingSaturating(ahead_ns)
        if let submitted { record(.delivery, timer, min(submitted.submitted_ns, called_ns), called_ns, 0) }
        guard isLate(called_ns.subtractingSaturating(deadline_ns)) else { return nil }
        let explanation = submitted?.explained(deadline_ns, called_ns) ?? explainRunning(deadline_ns, called_ns)
        return LateCall(name: name, timer: timer, called_ns: called_ns, explanation)
    }

    private func isLate(_ lateness_ns: Int64) -> Bool { handlers.isLate(lateness_ns) }

    /// How far the driver's clock is ahead of the monotonic clock.
    private var ahead_ns: Int64 {
        clock.clock == .monotonic ? 0 : clock.now_ns.subtractingSaturating(time.now_ns)
    }

    private var bootAhead_ns: Int64 { time.on(.bootTime).now_ns.subtractingSaturating(time.now_ns) }

    private func record(
        _ kind: FlightRecorder.Kind,
        _ timer: TimerToken,
        _ begin_ns: Int64,
        _ end_ns: Int64,
        _ value: Int64
    ) {
        flightRecorder?.add(kind, timer, begin_ns, end_ns, value)
    }
}

// The driver's thread.
extension LatenessObserver {
    package func willPark(_ park: Park) {
        other?.willPark(park)
        let now_ns = time.now_ns
        own.parked_ns = now_ns
        if hasCounts { own.evidence.willPark(now_ns, isPrecise: park.isPrecise) }
        // Only steps and suspension change these. They are read here, where nobody waits for it.
        if clock.clock == .monotonic { return }
        own.ahead_ns = ahead_ns
        own.bootAhead_ns = bootAhead_ns
    }

    package func didWake(from park: Park) {
        other?.didWake(from: park)
        let now_ns = time.now_ns
        let parked_ns = own.parked_ns.take()
        // The thread may have parked before anybody watched; a loop that spins says twice that it woke.
        if parked_ns == nil, !own.timeline.isEmpty { return }
        own.woke_ns = now_ns
        let planned_ns = park.until_ns < .max ? park.until_ns.subtractingSaturating(own.ahead_ns) : .max
        own.timeline.add(.parked, parked_ns ?? .min, now_ns, planned_ns: planned_ns)
        guard let parked_ns else { return }
        if hasCounts { own.evidence.didWake(parked_ns: now_ns.subtractingSaturating(parked_ns)) }
        record(.park, .stale, parked_ns, now_ns, planned_ns)
    }

    package func willCall(_ fire: borrowing Fire) {
        other?.willCall(fire)
        let ahead_ns = ahead_ns
        // A deadline before the clock's zero means "now": such a timer is not late before it was armed.
        let deadline_ns = fire.deadline_ns < 0 ? max(fire.deadline_ns, fire.lateFrom_ns) : fire.deadline_ns
        let lateness_ns = fire.called_ns.subtractingSaturating(deadline_ns)
        var call = Call(
            fire: LateFire(
                deadline_ns: deadline_ns.subtractingSaturating(ahead_ns),
                lateFrom_ns: fire.lateFrom_ns.subtractingSaturating(ahead_ns),
                called_ns: fire.called_ns.subtractingSaturating(ahead_ns)
            )
        )
        call.fire.isLoop = isLoop
        call.fire.tolerance_ns = fire.tolerance_ns
        if isLate(lateness_ns), !fire.isEarly {
            followClocks(&call.fire, ahead_ns)
            if hasCounts { call.fire.evidence = own.evidence.take(call.fire.called_ns, since: call.fire.lateFrom_ns) }
            call.hasEvidence = true
        } else if fire.leftOut == 0 {
            own.evidence.notePunctual(lateness_ns)
        }
        if fire.isBeforeDeadline, !fire.isEarly, own.woke_ns > .min {
            record(.spin, fire.token, own.woke_ns, call.fire.called_ns, 0)
        }
        own.call = call
    }

    package func didCall(_ fire: borrowing Fire) {
        endCall(fire, time.now_ns)
        other?.didCall(fire)
    }

    private func endCall(_ fire: borrowing Fire, _ ended_ns: Int64) {
        // Somebody may have begun to watch in the handler.
        guard let call = own.call.take() else { return }
        let called_ns = call.fire.called_ns
        let late = explained(call, fire, ended_ns)
        if fire.leftOut == 0 {
            own.timeline.add(.called, called_ns, ended_ns, timer: fire.token)
            own.evidence.noteCall(of: ended_ns.subtractingSaturating(called_ns))
            record(.call, fire.token, called_ns, ended_ns, call.fire.deadline_ns)
        }
        if let late { report(late) }
    }

    /// Explains a call that has ended. Returns nil if it is not to be reported here.
    private func explained(_ call: Call, _ fire: borrowing Fire, _ ended_ns: Int64) -> LateCall? {
        let lateness_ns = call.fire.called_ns.subtractingSaturating(call.fire.deadline_ns)
        guard call.hasEvidence, !call.isElsewhere, isLate(lateness_ns) else { return nil }
        var late = call.fire
        // These take tens of microseconds to read, so after the handler.
        let readsSlow = hasCounts && lateness_ns >= LateFire.longestWakeup_ns
        let slow = readsSlow ? own.evidence.takeSlow(ended_ns) : (stolen_ns: 0, throttled_ns: 0)
        late.evidence.stolen_ns = slow.stolen_ns
        late.evidence.throttled_ns = slow.throttled_ns
        var result = LateCall(
            name: name,
            timer: fire.token,
            called_ns: late.called_ns,
            late.explained(by: own.timeline)
        )
        result.armed_ns = armed_ns(fire.token)
        result.isThrottled = slow.throttled_ns > 0
        result.missedTicks = fire.missedTicks
        result.isLeftOut = fire.leftOut > 0
        return result
    }

    /// Notes how far the clock was set ahead since the thread parked, and how long the system was suspended.
    private func followClocks(_ fire: inout LateFire, _ ahead_ns: Int64) {
        if clock.clock == .monotonic { return }
        // Two readings in a row differ by less than a microsecond, unless the thread is interrupted between them.
        fire.suspended_ns = max(0, bootAhead_ns.subtractingSaturating(own.bootAhead_ns) - 1_000)
        if clock.clock == .bootTime { return }
        fire.step_ns = ahead_ns.subtractingSaturating(own.ahead_ns).subtractingSaturating(fire.suspended_ns) - 1_000
    }

    private func armed_ns(_ timer: TimerToken) -> Int64? {
        let noted = shared.withLock { $0.armed_ns[timer.slot] }
        let ended_ns = own.timeline.endOfLatestCall(of: timer)
        guard let noted, noted.generation == timer.generation else { return ended_ns }
        return max(noted.at_ns, ended_ns ?? .min)
    }

    /// Returns what is known of the running call, which only submits that of a handler, to a queue, an actor or a task. That
    /// call reports by itself, and this one does not. To be called inside the call.
    package func submission() -> SubmittedCall {
        guard var call = own.call else { return SubmittedCall(submitted_ns: time.now_ns) }
        call.isElsewhere = true
        own.call = call
        var submitted = SubmittedCall(submitted_ns: call.fire.called_ns)
        if call.hasEvidence { submitted.explanation = call.fire.explained(by: own.timeline) }
        return submitted
    }

    /// Explains why the running call is late, counted from another deadline than the fire's own.
    private func explainRunning(_ deadline_ns: Int64, _ called_ns: Int64) -> LatenessExplanation {
        var call = own.call ?? Call(fire: LateFire(deadline_ns: deadline_ns, called_ns: called_ns))
        let lateFrom_ns = max(deadline_ns, call.fire.lateFrom_ns)
        if own.call != nil, !call.hasEvidence, hasCounts {
            call.fire.evidence = own.evidence.take(called_ns, since: lateFrom_ns)
            call.hasEvidence = true
            own.call = call
        }
        call.fire.deadline_ns = deadline_ns
        call.fire.lateFrom_ns = lateFrom_ns
        call.fire.called_ns = called_ns
        return call.fire.explained(by: own.timeline)
    }
}
#endif
