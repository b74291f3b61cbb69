import HRTimerCore

/// What a loop keeps under its lock.
///
/// The lock of a timer's `link` may be held when this one is taken, never the other way round.
struct LoopState: ~Copyable, Sendable {
    var modes = ModeTable()
    var schedule = LoopSchedule()
    /// Of the timers in the schedule, by the slots of their tokens.
    var records = Slab<TimerRecord>()
    /// Taken out of the schedule, their call not yet come.
    var overdue = OverdueTimers()
    /// How often timers were armed: the order of equal deadlines.
    var armings: UInt64 = 0
    /// The call that waits, spinning, for its deadline. Whoever changes its timer calls it off first.
    var prepared: PreparedCall?
    var performs = PendingPerforms()
    var descriptors = WatchedDescriptors()
    var triggers = OrderedItems<LoopTrigger>()
    var observers = OrderedItems<LoopObserver>()
    /// The runs going on, the innermost last.
    var runs: [Run] = []
    /// The mode in which a host calls `process`.
    var hostIndex: Int?
    var isKeptAlive = false
    var isEnded = false

    struct TimerRecord: Sendable {
        let timer: LoopTimer
        var modes: ModeTable.SetID
        var phase = Phase.out
        /// Its own, also while its call runs.
        var deadline_ns = Int64.max
        /// The number of its latest arming.
        var arming: UInt64 = 0
    }

    /// Where a timer is: in the schedule; among the overdue ones; or nowhere, while its handler runs.
    enum Phase: Sendable { case armed, overdue, out }

    struct Run: Sendable {
        let mode: TimerLoop.Mode
        let index: Int
        /// What its present pass fires.
        var limit = OverdueTimers.Limit(now_ns: .min, arming: 0)
        var isStopped = false
    }
}

extension LoopState {
    /// The mode that the innermost run serves, or between runs that which a host serves; -1 for none.
    var served: Int { runs.last?.index ?? hostIndex ?? -1 }

    /// Whether the running mode serves what is in a set of modes.
    func serves(_ set: ModeTable.SetID) -> Bool { modes.contains(set, served) }

    /// Whether there is anything that a run in the mode could ever have to do.
    func hasWork(in index: Int) -> Bool {
        isKeptAlive || modes.hasMembers(in: index) || performs.contains { modes.contains($0, index) }
    }

    /// Whether a block, an edge or a signalled trigger waits for the next pass.
    var hasWorkNow: Bool {
        performs.contains { serves($0) } || descriptors.hasEdges { serves($0) }
            || triggers.entries.contains { $0.item.isSignalled && serves($0.modes) }
    }

    /// The thread sleeps no more, or must not: true if it must be woken.
    mutating func mustWakeNow() -> Bool { schedule.mustWakeNow() }

    /// The same for a run that has lost the last thing it could wait for.
    mutating func mustWakeToEnd() -> Bool {
        guard schedule.sleepsUntil_ns != .min, let run = runs.last, !hasWork(in: run.index) else { return false }
        return mustWakeNow()
    }
}

// Timers come and go. The tokens are live.
extension LoopState {
    mutating func addTimer(_ timer: LoopTimer, to mode: TimerLoop.Mode) -> TimerToken {
        let set = modes.adding(modes.index(of: mode), to: ModeTable.nowhere)
        modes.addMember(set)
        let token = schedule.add()
        records.insert(TimerRecord(timer: timer, modes: set), at: token.slot)
        return token
    }

    /// Gives the record, to be let go after the lock; nil if the token is stale.
    mutating func removeTimer(_ token: TimerToken) -> TimerRecord? {
        guard schedule.isLive(token) else { return nil }
        leaveOverdue(token)
        _ = schedule.remove(token)
        guard let record = records.remove(at: token.slot) else { return nil }
        modes.removeMember(record.modes)
        return record
    }

    mutating func addMode(_ mode: TimerLoop.Mode, to token: TimerToken) {
        let set = modes.adding(modes.index(of: mode), to: records[token.slot].modes)
        setModes(set, of: token)
    }

    /// The record if that was the timer's last mode.
    mutating func removeTimer(_ token: TimerToken, from mode: TimerLoop.Mode) -> TimerRecord? {
        guard schedule.isLive(token), let index = modes.known(mode) else { return nil }
        let set = modes.removing(index, from: records[token.slot].modes)
        if modes.isEmpty(set) { return removeTimer(token) }
        setModes(set, of: token)
        return nil
    }

    private mutating func setModes(_ set: ModeTable.SetID, of token: TimerToken) {
        let former = records[token.slot].modes
        guard set != former else { return }
        let isOverdue = records[token.slot].phase == .overdue
        if isOverdue { overdue.remove(entry(token), former) }
        records[token.slot].modes = set
        if isOverdue { overdue.insert(entry(token), set) }
        modes.moveMember(from: former, to: set)
    }

    /// Forgets all timers and gives their records, to be let go after the lock.
    mutating func endTimers() -> [TimerRecord] {
        overdue.removeAll()
        prepared = nil
        schedule.removeAll()
        return records.removeAll()
    }

    @inline(__always)
    mutating func arm(_ token: TimerToken, _ arming: LoopSchedule.Arming) {
        leaveOverdue(token)
        armings += 1
        schedule.arm(token, arming)
        records[token.slot].phase = .armed
        records[token.slot].deadline_ns = arming.deadline_ns
        records[token.slot].arming = armings
    }

    @inline(__always)
    private mutating func leaveOverdue(_ token: TimerToken) {
        if records[token.slot].phase == .overdue { overdue.remove(entry(token), records[token.slot].modes) }
    }

    @inline(__always)
    func entry(_ token: TimerToken) -> OverdueTimers.Entry {
        OverdueTimers.Entry(
            deadline_ns: records[token.slot].deadline_ns,
            arming: records[token.slot].arming,
            token: token
        )
    }
}
