import CHRTimer
import HRTimerCore

/// What a loop keeps under its lock.
///
/// A timer's own lock may be held when this one is taken, never the other way round.
struct LoopState: ~Copyable, Sendable {
    var modes = ModeTable()
    var timers = PendingTimers<TimerRecord>()
    /// How exact its timers are, unless one asks for more.
    var precision = TimerPrecision.coalesced
    var spinBudget = SpinMargin.defaultBudget
    /// The deadlines of timers that ask for `.precise` themselves.
    private var preciseDeadlines = PendingTimers<Void>()
    /// Taken out of the queue, in order of firing, their turn not yet come. Shared by nested runs: the inner one fires what
    /// the outer one took.
    var due = DueTimers()
    /// Taken out of the queue before their deadline, while the thread spins up to it.
    private var prepared = PreparedTimers()
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
        /// Its place among the precise deadlines, if it asks for that.
        var preciseToken: TimerToken?
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

    /// Whether a block, an edge or a signalled trigger waits for the next pass.
    var hasWorkNow: Bool {
        let served = served
        return performs.contains(servedBy: served) || descriptors.hasEdges(servedBy: served)
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

    /// Forgets all timers and gives their records, to be let go after the lock.
    mutating func endTimers() -> [TimerRecord] {
        _ = preciseDeadlines.end()
        return timers.end()
    }

    mutating func removeTimer(_ token: TimerToken) -> TimerRecord? {
        guard let record = timers.remove(token) else { return nil }
        if let preciseToken = record.preciseToken { _ = preciseDeadlines.remove(preciseToken) }
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

    /// What a timer asks for.
    struct Arming: Sendable {
        var deadline_ns: Int64
        var tolerance_ns: Int64
        var isPrecise: Bool
    }

    mutating func arm(_ token: TimerToken, _ arming: Arming) {
        guard timers.arm(token, deadline_ns: arming.deadline_ns, tolerance_ns: arming.tolerance_ns) else { return }
        timers.records[token.slot].phase = .armed
        timers.records[token.slot].deadline_ns = arming.deadline_ns
        if arming.tolerance_ns > 0 { hasTolerance = true }
        if arming.isPrecise {
            let preciseToken = timers.records[token.slot].preciseToken ?? preciseDeadlines.add(())
            timers.records[token.slot].preciseToken = preciseToken
            preciseDeadlines.arm(preciseToken, deadline_ns: arming.deadline_ns)
        } else if let preciseToken = timers.records[token.slot].preciseToken.take() {
            _ = preciseDeadlines.remove(preciseToken)
        }
    }

    /// When to be awake, and whether to spin up to it.
    struct Wake: Sendable {
        var at_ns: Int64
        /// Nil: the kernel's own lateness will do.
        var spinBudget: Double?
    }

    /// The deadline of the next timer, or where tolerances count the latest instant that suits all.
    var nextWake: Wake {
        let next_ns = hasTolerance && precision == .coalesced ? timers.nextWake_ns : timers.next_ns
        // Prepared ones are there if a wake ended the spin.
        let precise_ns = min(preciseDeadlines.next_ns, prepared.deadline_ns)
        if precision == .precise { return Wake(at_ns: min(next_ns, precise_ns), spinBudget: spinBudget) }
        if precise_ns == .max { return Wake(at_ns: next_ns) }
        // An ordinary wake-up just before a precise deadline would spoil it, being late: it is waited for precisely too.
        let isPrecise = precise_ns.subtractingSaturating(next_ns) < Self.preciseNeighbourhood_ns
        return Wake(at_ns: min(next_ns, precise_ns), spinBudget: isPrecise ? spinBudget : nil)
    }

    private static let preciseNeighbourhood_ns: Int64 = 100_000

    /// Whether the thread sleeps too long for what was armed just now.
    mutating func mustWake(for arming: Arming) -> Bool {
        mustWake(
            for: precision == .coalesced
                ? arming.deadline_ns.addingSaturating(arming.tolerance_ns) : arming.deadline_ns
        )
    }

    /// The same for an instant. If so the thread counts as awake from now on, so that more of the kind send no second wake.
    private mutating func mustWake(for deadline_ns: Int64) -> Bool {
        guard deadline_ns < sleepsUntil_ns else { return false }
        sleepsUntil_ns = .min
        return true
    }

    /// The same for what is due at once.
    mutating func mustWakeNow() -> Bool { mustWake(for: .min) }

    /// The same for a run that has lost the last thing it could wait for.
    mutating func mustWakeToEnd() -> Bool {
        guard sleepsUntil_ns != .min, let run = runs.last, !hasWork(in: run.served) else { return false }
        return mustWakeNow()
    }
}

// Due timers.
extension LoopState {
    /// Moves what is due at `now_ns` to the due timers, in order of firing.
    mutating func collectDue(now_ns: Int64) {
        readmit()
        let served = served
        if prepared.deadline_ns <= now_ns {
            takeDue(now_ns: prepared.deadline_ns - 1) { $0.place($1, served) }
            for index in prepared.tokens.indices {
                let token = prepared.tokens[index]
                // Neither invalidated nor moved since.
                if timers.isLive(token), timers.records[token.slot].phase == .due { place(token, served) }
            }
            prepared.removeAll()
        }
        takeDue(now_ns: now_ns) { $0.place($1, served) }
    }

    /// Has what will be due at `deadline_ns` taken out of the queue, while there is time for it.
    mutating func prepareDue(at deadline_ns: Int64) {
        guard prepared.tokens.isEmpty else { return }
        takeDue(now_ns: deadline_ns) { state, token in
            state.timers.records[token.slot].phase = .due
            state.prepared.tokens.append(token)
        }
        if !prepared.tokens.isEmpty { prepared.deadline_ns = deadline_ns }
    }

    private mutating func takeDue(now_ns: Int64, _ take: (inout LoopState, TimerToken) -> Void) {
        guard timers.hasDue(at: now_ns) else { return }
        withUnsafeTemporaryAllocation(of: hrt_due.self, capacity: 64) { batch in
            // A call gives a bounded number, perhaps none.
            while timers.hasDue(at: now_ns) {
                let count = timers.takeDue(now_ns: now_ns, into: batch)
                for due in batch[..<count] {
                    let token = TimerToken(due.token)
                    if let preciseToken = timers.records[token.slot].preciseToken {
                        preciseDeadlines.disarm(preciseToken)
                    }
                    take(&self, token)
                }
            }
        }
    }

    private mutating func place(_ token: TimerToken, _ served: ModeSet) {
        guard timers.records[token.slot].modes.intersects(served) else { return putAside(token) }
        timers.records[token.slot].phase = .due
        due.append(token)
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

struct PreparedTimers: Sendable {
    /// In order of firing; stale ones, and such as were moved since, are among them.
    var tokens: [TimerToken] = []
    /// Never, if there are none.
    var deadline_ns = Int64.max

    mutating func removeAll() {
        tokens.removeAll(keepingCapacity: true)
        deadline_ns = .max
    }
}

struct SetAsideTimers: Sendable {
    /// Stale ones, and such as were moved since, are among them.
    var tokens: [TimerToken] = []
    /// All modes of all of them, perhaps more.
    var modes = ModeSet()
}
