import CHRTimer

/// What a loop keeps under its lock.
///
/// A timer's own lock may be held when this one is taken, never the other way round.
struct LoopState: ~Copyable, Sendable {
    var modes = ModeTable()
    var timers = PendingTimers<TimerRecord>()
    /// Taken out of the queue, in order of firing, their turn not yet come. Shared by nested runs: the inner one fires what
    /// the outer one took.
    var due = DueTimers()
    /// Due timers of modes that are not running.
    var setAside = SetAsideTimers()
    var performs = PendingPerforms()
    var descriptors = WatchedDescriptors()
    var triggers = OrderedItems<LoopTrigger>()
    var observers = OrderedItems<LoopObserver>()
    /// The runs going on, the innermost last.
    var runs: [Run] = []
    /// What the thread sleeps until. `.min` while it is awake: whoever adds something need not wake it then.
    var sleepsUntil_ns = Int64.min
    /// Some timer has, or had, a tolerance.
    var hasTolerance = false
    /// The mode in which a host calls `process`.
    var hostIndex: Int?
    var isKeptAlive = false
    var isEnded = false

    struct TimerRecord: Sendable {
        let timer: LoopTimer
        var modes: ModeSet
        var phase = Phase.out
        /// Its own, also while it is set aside and the queue has another.
        var deadline_ns = Int64.max
        var isSetAside = false
    }

    /// Where a timer is: in the queue; among the due ones; put aside because no mode of its runs; or nowhere, while its
    /// handler runs.
    enum Phase { case armed, due, aside, out }

    struct Run: Sendable {
        let mode: TimerLoop.Mode
        let index: Int
        /// What the mode serves; see `ModeTable.served(in:)`.
        var served: ModeSet
        var isStopped = false
    }
}

extension LoopState {
    /// What the innermost run serves, or between runs what a host serves.
    var served: ModeSet {
        if let run = runs.last { return run.served }
        return hostIndex.map(modes.served(in:)) ?? ModeSet()
    }

    /// Whether there is anything that a run in these modes could ever have to do.
    func hasWork(in served: ModeSet) -> Bool {
        isKeptAlive || modes.hasMembers(in: served) || performs.contains(servedBy: served)
    }

    /// Whether a block or a signalled trigger waits for the next pass.
    var hasWorkNow: Bool {
        let served = served
        return performs.contains(servedBy: served)
            || triggers.entries.contains { $0.item.isSignalled && $0.modes.intersects(served) }
    }

    mutating func addTimer(_ timer: LoopTimer, to mode: TimerLoop.Mode) -> TimerToken {
        let index = modes.index(of: mode)
        var set = ModeSet()
        set.insert(index)
        modes.addMember(to: index)
        return timers.add(TimerRecord(timer: timer, modes: set))
    }

    mutating func addMode(_ mode: TimerLoop.Mode, to token: TimerToken) {
        let index = modes.index(of: mode)
        guard timers.isLive(token), !timers.records[token.slot].modes.contains(index) else { return }
        timers.records[token.slot].modes.insert(index)
        modes.addMember(to: index)
        let modes = timers.records[token.slot].modes
        if timers.records[token.slot].phase == .aside { setAside.modes.formUnion(modes) }
    }

    mutating func removeTimer(_ token: TimerToken) -> TimerRecord? {
        guard let record = timers.remove(token) else { return nil }
        modes.removeMember(from: record.modes)
        return record
    }

    /// The record if that was the timer's last mode.
    mutating func removeTimer(_ token: TimerToken, from mode: TimerLoop.Mode) -> TimerRecord? {
        guard timers.isLive(token), let index = modes.known(mode), timers.records[token.slot].modes.contains(index)
        else {
            return nil
        }
        if timers.records[token.slot].modes.count == 1 { return removeTimer(token) }
        timers.records[token.slot].modes.remove(index)
        modes.removeMember(from: index)
        return nil
    }

    mutating func arm(_ token: TimerToken, deadline_ns: Int64, tolerance_ns: Int64) {
        guard timers.arm(token, deadline_ns: deadline_ns, tolerance_ns: tolerance_ns) else { return }
        timers.records[token.slot].phase = .armed
        timers.records[token.slot].deadline_ns = deadline_ns
        if tolerance_ns > 0 { hasTolerance = true }
    }

    /// When to wake for the next timer: its deadline, or with tolerances the latest instant that suits all.
    var nextWake_ns: Int64 { hasTolerance ? timers.nextWake_ns : timers.next_ns }

    /// Whether the thread sleeps too long for `deadline_ns`. If so it counts as awake from now on, so that more of the kind
    /// send no second wake.
    mutating func mustWake(for deadline_ns: Int64) -> Bool {
        guard deadline_ns < sleepsUntil_ns else { return false }
        sleepsUntil_ns = .min
        return true
    }

    /// The same for what is due at once.
    mutating func mustWakeNow() -> Bool { mustWake(for: .min) }
}

// Due timers.
extension LoopState {
    /// Takes what is due at `now_ns` out of the queue.
    mutating func collectDue(now_ns: Int64) {
        readmit()
        let served = served
        withUnsafeTemporaryAllocation(of: hrt_due.self, capacity: 64) { batch in
            // A call gives a bounded number, perhaps none.
            while timers.hasDue(at: now_ns) {
                let count = timers.takeDue(now_ns: now_ns, into: batch)
                for due in batch[..<count] {
                    let token = TimerToken(due.token)
                    if timers.records[token.slot].modes.intersects(served) {
                        timers.records[token.slot].phase = .due
                        self.due.append(token)
                    } else {
                        putAside(token)
                    }
                }
            }
        }
    }

    /// The next due timer that still is: neither invalidated nor moved since it was taken.
    mutating func popDue() -> LoopTimer? {
        let served = served
        while let token = due.popFirst() {
            guard timers.isLive(token), timers.records[token.slot].phase == .due else { continue }
            // A nested run may serve less than the run that took the timer.
            guard timers.records[token.slot].modes.intersects(served) else {
                putAside(token)
                continue
            }
            timers.records[token.slot].phase = .out
            return timers.records[token.slot].timer
        }
        return nil
    }

    private mutating func putAside(_ token: TimerToken) {
        timers.records[token.slot].phase = .aside
        setAside.modes.formUnion(timers.records[token.slot].modes)
        // Still listed from an earlier time, if its deadline was moved in between.
        if timers.records[token.slot].isSetAside { return }
        timers.records[token.slot].isSetAside = true
        setAside.tokens.append(token)
    }

    /// Puts timers that were set aside back into the queue, if the running mode is theirs.
    mutating func readmit() {
        let served = served
        guard setAside.modes.intersects(served) else { return }
        let tokens = setAside.tokens
        setAside = SetAsideTimers()
        for token in tokens where timers.isLive(token) {
            timers.records[token.slot].isSetAside = false
            guard timers.records[token.slot].phase == .aside else { continue }
            if timers.records[token.slot].modes.intersects(served) {
                // Overdue: its place among the overdue ones is what counts.
                timers.arm(token, deadline_ns: .min)
                timers.records[token.slot].phase = .armed
            } else {
                putAside(token)
            }
        }
    }
}

/// Tokens in order of firing.
struct DueTimers: Sendable {
    private var tokens: [TimerToken] = []
    private var first = 0

    var isEmpty: Bool { first == tokens.count }

    mutating func append(_ token: TimerToken) {
        tokens.append(token)
    }

    mutating func popFirst() -> TimerToken? {
        guard first < tokens.count else { return nil }
        defer {
            first += 1
            if first == tokens.count {
                tokens.removeAll(keepingCapacity: true)
                first = 0
            }
        }
        return tokens[first]
    }
}

struct SetAsideTimers: Sendable {
    /// Stale ones, and such as were moved since, are among them.
    var tokens: [TimerToken] = []
    /// All modes of all of them, perhaps more.
    var modes = ModeSet()
}
