import CHRTimer
import HRTimerCore

/// What a loop keeps under its lock, and the states of the timers in it. Touched by any thread, with the lock.
///
/// Of locks, a timer's `lock`, and that of a source, trigger or observer, may be held when this one is taken, never the other
/// way round; none is taken while it is held, but what wakes the loop's thread.
struct LoopState: ~Copyable, Sendable {
    var modes = ModeTable()
    var schedule: TimerSchedule
    var spinBudget = SpinMargin.defaultBudget
    /// Of the timers in the schedule, by the slots of their tokens.
    var records = SlotArray<TimerRecord> { TimerRecord() }
    /// The schedule has nothing more to give back.
    private var isTrimmingRecords = false
    /// Taken out of the schedule, their call not yet come.
    var overdue = OverdueTimers()
    /// How often timers were armed: the order of equal deadlines.
    var armings: UInt64 = 0
    /// The call that waits, spinning, for its deadline. Whoever changes its timer calls it off first.
    var prepared: PreparedCall?
    var performs = PendingPerforms()
    var descriptors = WatchedDescriptors()
    var mainQueue = MainQueueWatch()
    var triggers = OrderedItems<LoopTrigger>()
    var observers = OrderedItems<LoopObserver>()
    /// The runs going on, the innermost last.
    var runs: [Run] = []
    /// Those before; nil unless somebody asks.
    var runLog: RunLog?
    /// The mode in which a host calls `process`.
    var hostIndex: Int?
    /// Whether it has the main queue served there too.
    var hostServesMainQueue = false
    var isKeptAlive = false
    /// How often a run began.
    var runCount: UInt64 = 0
    /// Looks whether anybody runs the loop; in debug builds alone.
    var runWatch: RunWatch?
    var account = LoopAccount()
    private var hasEnded = false
    private let generation = hrt_fork_generation()

    init(now_ns: Int64) {
        schedule = TimerSchedule(precision: .coalesced, now_ns: now_ns)
    }

    struct TimerRecord: Sendable {
        /// Nil in a slot that is free.
        var timer: LoopTimer?
        var modes = ModeTable.nowhere
        var phase = Phase.out
        /// Its own, also while its call runs.
        var deadline_ns = Int64.max
        /// The number of its latest arming.
        var arming: UInt64 = 0
    }

    /// Where a timer is, and what leads it from there to where:
    ///
    ///     phase     its deadline is         left when
    ///     armed     in the schedule         it is due, or will be when a precise wait ends -> overdue; it is removed -> out
    ///     overdue   among the overdue ones  its call is begun or prepared -> out; it is moved -> armed; it is removed -> out
    ///     out       nowhere                 it is given a deadline -> armed; its prepared call is called off -> overdue
    ///
    /// Its handler runs, or waits in `prepared`, while it is out and in the loop.
    enum Phase: Sendable { case armed, overdue, out }

    struct Run: Sendable {
        let mode: TimerLoop.Mode
        let index: Int
        /// Whether the main queue counts among its sources.
        var servesMainQueue = false
        /// When it began, if that is written down.
        var begin_ns = Int64.max
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

    /// Whether the innermost run, or between runs a host, serves libdispatch's main queue.
    var servesMainQueue: Bool { runs.last?.servesMainQueue ?? hostServesMainQueue }

    /// The same for a run that goes on.
    func hasWork(in run: Run) -> Bool { run.servesMainQueue || hasWork(in: run.index) }

    /// Brings what is watched up to date with the running mode. Gives the sources that the kernel refused.
    @inline(__always)
    mutating func updateWatches(_ waiter: LoopWaiter) -> [LoopSource] {
        if servesMainQueue != mainQueue.isWatched { mainQueue.toggle(waiter) }
        return descriptors.update(waiter, served, modes)
    }

    /// Whether a block, an edge or a signalled trigger waits for the next pass.
    var hasWorkNow: Bool {
        performs.contains { serves($0) } || descriptors.hasEdges { serves($0) }
            || triggers.entries.contains { $0.item.isSignalled && serves($0.modes) }
    }

    /// The thread sleeps no more, or must not: true if it must be woken.
    mutating func mustWakeNow() -> Bool { !isEnded && schedule.mustWake(at: .min) }

    /// The same for a run that has lost the last thing it could wait for.
    mutating func mustWakeToEnd() -> Bool {
        guard schedule.sleepsUntil_ns != .min, let run = runs.last, !hasWork(in: run) else { return false }
        return mustWakeNow()
    }
}

// Before the thread sleeps.
extension LoopState {
    /// When to be awake: for the next deadline, or for an overdue timer of the running mode that a precise wait has taken out
    /// already, if its spin was broken.
    var nextWake: TimerSchedule.Wake {
        let wake = schedule.nextWake
        let taken_ns = overdueDeadline_ns
        return taken_ns == .max ? wake : TimerSchedule.Wake(at_ns: min(wake.at_ns, taken_ns), isPrecise: true)
    }

    /// What is better done before the thread sleeps: a bounded piece of work a call. True if there is more to do.
    mutating func tidy() -> Bool {
        if schedule.settle() { return true }
        if !isTrimmingRecords {
            guard schedule.wantsTrim else { return false }
            isTrimmingRecords = !schedule.trim()
            return true
        }
        isTrimmingRecords = records.trim { $0.timer == nil }
        return isTrimmingRecords
    }
}

extension LoopState {
    /// In a child of fork(2), where the thread is not, it has ended as well; nothing but this may be asked there.
    var isEnded: Bool { hasEnded || generation != hrt_fork_generation() }

    mutating func setEnded() { hasEnded = true }
}

// Timers come and go. The tokens are live.
extension LoopState {
    mutating func addTimer(_ timer: LoopTimer, to mode: TimerLoop.Mode) -> TimerToken {
        let set = modes.adding(modes.index(of: mode), to: ModeTable.nowhere)
        modes.addMember(set)
        let token = schedule.add()
        records.makeRoom(for: token.slot)
        records[token.slot].timer = timer
        records[token.slot].modes = set
        records[token.slot].phase = .out
        return token
    }

    /// Gives the timer in place of nil, to be let go after the lock. Does nothing if the token is stale.
    @inline(__always)
    mutating func removeTimer(_ token: TimerToken, _ timer: inout LoopTimer?) {
        guard schedule.isLive(token) else { return }
        leaveOverdue(token)
        _ = schedule.remove(token)
        modes.removeMember(records[token.slot].modes)
        records[token.slot].phase = .out
        swap(&timer, &records[token.slot].timer)
    }

    mutating func addMode(_ mode: TimerLoop.Mode, to token: TimerToken) {
        let set = modes.adding(modes.index(of: mode), to: records[token.slot].modes)
        setModes(set, of: token)
    }

    /// The timer if that was its last mode.
    mutating func removeTimer(_ token: TimerToken, from mode: TimerLoop.Mode) -> LoopTimer? {
        guard schedule.isLive(token), let index = modes.known(mode) else { return nil }
        let set = modes.removing(index, from: records[token.slot].modes)
        var timer: LoopTimer?
        if modes.isEmpty(set) { removeTimer(token, &timer) } else { setModes(set, of: token) }
        return timer
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

    /// Forgets all timers and gives them, to be let go after the lock.
    mutating func endTimers() -> [LoopTimer] {
        overdue.removeAll()
        if let prepared { account.takeBackPrepared(prepared.toldTicks) }
        prepared = nil
        schedule.end()
        var timers: [LoopTimer] = []
        records.forEach { record in if let timer = record.timer.take() { timers.append(timer) } }
        records = SlotArray { TimerRecord() }
        return timers
    }

    @inline(__always)
    mutating func arm(_ token: TimerToken, _ deadline_ns: Int64, _ asked: TimerSchedule.Asked) {
        leaveOverdue(token)
        armings += 1
        schedule.ask(asked, for: token)
        schedule.arm(token, deadline_ns)
        records[token.slot].phase = .armed
        records[token.slot].deadline_ns = deadline_ns
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
