// SPDX-License-Identifier: Apache-2.0
import HRTimer

/// What the sources of one engine on a frozen clock must do, in arrays that are searched from end to end, with ticks that are
/// counted one by one. Written from the rules, not from the library.
///
/// Of the engine, as in `EngineModel`:
///
/// * Time goes to the earliest wake: the earliest end of a window on a coalesced engine, of sources that ask for no more, and
///   elsewhere a deadline. While a handler runs on the engine's thread there is none.
/// * An engine that is awake calls whatever was due when it woke, or is armed for then by its handlers, in the order of
///   (deadline, arming). What is armed for an instant that the engine has passed stands in that order as if it were for the
///   instant at which the engine looked at the clock last.
///
/// Of sources:
///
/// * The engine waits for the deadline of a source that is active, not suspended, not cancelled, and of which no call is under
///   way. What changes something arms it anew, behind those of an equal deadline. What changes nothing does not.
/// * A deadline that is only put off, without interval, leeway and precision, stays in its place: the engine wakes for the
///   former one, and arms the source then.
/// * A call counts by the policy and the clock as they are when it begins, and ends by that policy, unless the source has
///   been scheduled anew meanwhile.
/// * A deadline that comes without an event handler is the last one that is waited for. The ticks up to the instant at which a
///   handler is set are dropped.
/// * The registration handler is a call too, and no event is called before it. Cancelling makes such a call if there is a cancel
///   handler, or comes at the end of the call under way; otherwise the source is gone at once. Both come after what is due.
/// * A call elsewhere is submitted when its deadline has come, by the engine or by the verb that finds it due, and is under way from
///   then on. The ticks are counted when it begins. The engine has armed the deadline after it as soon as it has submitted.
final class SourceModel: SourceWorld {
    struct Source {
        let place: Int
        let isStrict: Bool
        var isElsewhere: Bool
        var grid = SourceGrid()
        var leeway_ns: Int64 = 0
        var policy = MissedTickPolicy.merge
        var precision: TimerPrecision?
        var suspensions = 0
        var isActive = false
        var isCancelled = false
        /// It was cancelled and that is over, or it was dropped: it has no handlers and no timer.
        var isGone = false
        var eventHandler: Int?
        var hasRegistrationHandler = false
        var hasCancelHandler = false
        /// From the submission, if the call is made elsewhere. Stays true after `cancel`.
        var isUnderWay = false
        /// A deadline has come without an event handler.
        var isIdle = false
        var data: UInt = 0
        /// That of the call under way; nil once the source was scheduled anew.
        var policyOfCall: MissedTickPolicy?
        var calls = 0
        /// Whether one of its handlers runs.
        var isRunning = false

        var isReady: Bool { isActive && !isCancelled && !isUnderWay && suspensions == 0 }
        /// Of those that it keeps.
        var handlers: Int {
            isGone ? 0 : (eventHandler == nil ? 0 : 1) + (hasRegistrationHandler ? 1 : 0) + (hasCancelHandler ? 1 : 0)
        }
    }

    enum Job {
        case call, registration, cancelling
    }

    /// What the engine waits for.
    struct Wait {
        let source: Int
        let job: Job
        let deadline_ns: Int64
        /// Where it stands among others.
        let place_ns: Int64
        let windowEnd_ns: Int64
        let arming: Int
        /// Whether the deadline may be put off.
        var isMovable = false
    }

    let script: SourceScript
    var sources: [Source] = []
    /// The number of the source at a place.
    private var places: [Int?]
    private var handlers = 0
    var waits: [Wait] = []
    var armings = 0
    var submitted: [(source: Int, job: Job)] = []
    /// Whether a handler runs on the engine's thread.
    var isBusy = false
    /// When the engine looked at the clock last; `.min` while it sleeps.
    var looked_ns = Int64.min
    var now_ns: Int64
    var fires: UInt64 = 0
    var missedTicks: UInt64 = 0
    var events: [SourceEvent] = []
    var allowance = SourceAllowance()

    init(_ script: SourceScript, start_ns: Int64) {
        self.script = script
        places = Array(repeating: nil, count: script.places)
        now_ns = start_ns
    }

    var liveTimers: Int { sources.count { !$0.isGone } + waits.count { $0.job != .call } }
    var keptHandlers: Int { sources.reduce(0) { $0 + $1.handlers } }

    /// What the clock shows as the next deadline: of what is put off the later one.
    var nextDeadline_ns: Int64 {
        let shown = waits.compactMap { wait -> Int64? in
            guard wait.job == .call else { return wait.windowEnd_ns }
            if sources[wait.source].isUnderWay { return nil }
            return wait.isMovable ? sources[wait.source].grid.next_ns.map { max($0, wait.place_ns) } : wait.windowEnd_ns
        }
        return shown.min() ?? .max
    }

    func make(at place: Int, isStrict: Bool, isElsewhere: Bool) {
        drop(place)
        places[place] = sources.count
        sources.append(Source(place: place, isStrict: isStrict, isElsewhere: isElsewhere))
    }

    private func drop(_ place: Int) {
        guard let number = places[place] else { return }
        places[place] = nil
        // A cancelled source ends by itself.
        guard !sources[number].isCancelled else { return }
        sources[number].isCancelled = true
        sources[number].isGone = true
        disarm(number)
    }

    func perform(_ verb: SourceVerb, at place: Int) {
        guard let number = places[place] else { return }
        let isCancelled = sources[number].isCancelled
        switch verb {
        case .schedule(let instant, let interval, let leeway): schedule(number, instant, interval, leeway)
        case .activate: if !sources[number].isActive { activate(number) }
        case .resume: resume(number)
        case .suspend:
            sources[number].suspensions += 1
            if sources[number].suspensions == 1 { change(number) }
        case .cancel: cancel(number)
        case .drop: drop(place)
        case .setEventHandler(let isSet):
            if isSet { handlers += 1 }
            if !isCancelled { setEventHandler(number, isSet ? handlers : nil) }
        case .setRegistrationHandler(let isSet): if !isCancelled { sources[number].hasRegistrationHandler = isSet }
        case .setCancelHandler(let isSet): if !isCancelled { sources[number].hasCancelHandler = isSet }
        case .setPolicy(let policy): sources[number].policy = policy
        case .setPrecision(let precision):
            if sources[number].precision == precision { return }
            sources[number].precision = precision
            change(number)
        case .setTarget(let isElsewhere):
            if isCancelled { return }
            sources[number].isElsewhere = isElsewhere
        case .look: look(number)
        }
    }

    private func schedule(
        _ number: Int,
        _ instant: SourceVerb.Instant,
        _ interval: Duration?,
        _ leeway: Duration
    ) {
        let deadline_ns =
            switch instant {
            case .fromNow, .aligned: instant.deadline_ns(now_ns)!
            case .distantPast: now_ns
            case .distantFuture: Int64.max
            }
        if sources[number].isCancelled { return }
        let grid = SourceGrid(deadline_ns, every: interval)
        if interval == nil, leeway == .zero, isPutOff(number, deadline_ns, instant) {
            sources[number].grid = grid
            return
        }
        sources[number].grid = grid
        sources[number].isIdle = false
        sources[number].policyOfCall = nil
        let longest_ns = interval == nil ? Int64.max : Int64(grid.interval_as / 2_000_000_000)
        let asked_ns = max(0, SourceGrid.roundedUp_ns(leeway.attoseconds))
        sources[number].leeway_ns = sources[number].isStrict ? 0 : min(asked_ns, longest_ns)
        change(number)
    }

    private func isPutOff(_ number: Int, _ deadline_ns: Int64, _ instant: SourceVerb.Instant) -> Bool {
        // The distant past is now, and that has an arming of its own.
        guard instant.deadline_ns(now_ns) != nil, let former_ns = sources[number].grid.next_ns else { return false }
        return waits.contains { $0.source == number && $0.isMovable } && deadline_ns >= former_ns
    }

    private func resume(_ number: Int) {
        if sources[number].suspensions > 0 {
            sources[number].suspensions -= 1
            if sources[number].suspensions == 0 { change(number) }
        } else if !sources[number].isActive {
            activate(number)
        }
    }

    private func activate(_ number: Int) {
        sources[number].isActive = true
        let source = sources[number]
        let hasToRegister = source.hasRegistrationHandler && !source.isUnderWay && !source.isCancelled
        if hasToRegister { sources[number].isUnderWay = true }
        change(number)
        if hasToRegister { run(.registration, number) }
    }

    private func cancel(_ number: Int) {
        guard !sources[number].isCancelled else { return }
        sources[number].isCancelled = true
        disarm(number)
        if sources[number].isUnderWay {
            // A target that may end, as a loop may, is told by itself: its call may never come.
            if sources[number].isElsewhere, !sources[number].isRunning { submitted.append((number, .cancelling)) }
            return
        }
        sources[number].isUnderWay = true
        if sources[number].hasCancelHandler {
            run(.cancelling, number)
        } else {
            sources[number].isGone = true
        }
    }

    private func setEventHandler(_ number: Int, _ handler: Int?) {
        sources[number].eventHandler = handler
        guard sources[number].isIdle, handler != nil else { return }
        sources[number].grid.forget(now_ns)
        sources[number].isIdle = false
        change(number)
    }

    private func look(_ number: Int) {
        if sources[number].isIdle { sources[number].grid.forget(now_ns) }
        let source = sources[number]
        events.append(
            .looked(
                source: number,
                isCancelled: source.isCancelled,
                data: source.data,
                nextDeadline_ns: source.isActive && !source.isCancelled ? source.grid.next_ns : nil
            )
        )
    }
}
