#if os(Linux)
import CHRTimer
import HRTimerCore

/// What a loop keeps under its lock, and the states of the timers in it. Touched by any thread, with the lock.
///
/// Of locks, a timer's `lock`, and that of a source, trigger or observer, may be held when this one is taken, never the other
/// way round; none is taken while it is held, but what wakes the loop's thread.
struct LoopState: ~Copyable, Sendable {
    var modes = ModeTable()
    /// Its groups are sets of modes.
    var core: FiringCore
    var spinBudget: Double?
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
    /// The timers that do not keep a run going, by their slots: no members of their modes. Mostly none.
    private var quietTimers: Set<UInt32> = []
    private var hasEnded = false

    init(now_ns: Int64) {
        core = FiringCore(precision: .coalesced, now_ns: now_ns)
        core.serve(ModeTable.nowhere, false)
    }

    struct Run: Sendable {
        let mode: TimerLoop.Mode
        let index: Int
        /// Whether the main queue counts among its sources.
        var servesMainQueue = false
        /// When it began, if that is written down.
        var begin_ns = Int64.max
        /// What its present pass fires.
        var limit = PassLimit(now_ns: .min, sequence: 0)
        var isStopped = false
    }
}

extension LoopState {
    /// The mode that the innermost run serves, or between runs that which a host serves; -1 for none.
    var served: Int { runs.last?.index ?? hostIndex ?? -1 }

    /// Has the core fire what is in the mode that is served now, and nothing else.
    mutating func serveGroups() {
        for set in 0..<ModeTable.SetID(modes.setCount) { serve(set) }
    }

    /// The same for one set of modes.
    mutating func serve(_ set: ModeTable.SetID) { core.serve(set, serves(set)) }

    /// Whether the running mode serves what is in a set of modes.
    func serves(_ set: ModeTable.SetID) -> Bool { modes.contains(set, served) }

    /// Whether there is anything that a run in the mode could ever have to do.
    #if compiler(>=6.3)
    @section("hrt_hot_loop")
    #endif
    func hasWork(in index: Int) -> Bool {
        isKeptAlive || modes.hasMembers(in: index) || performs.contains { modes.contains($0, index) }
    }

    /// Whether the innermost run, or between runs a host, serves libdispatch's main queue.
    var servesMainQueue: Bool { runs.last?.servesMainQueue ?? hostServesMainQueue }

    /// The same for the innermost run, which goes on. Its parts are read where they lie: a copy of it would be one of its mode's
    /// name, too.
    #if compiler(>=6.3)
    @section("hrt_hot_loop")
    #endif
    func hasWorkInRun() -> Bool {
        let last = runs.count - 1
        return runs[last].servesMainQueue || hasWork(in: runs[last].index)
    }

    /// Whether the innermost run is to go on, as far as it and its loop were not stopped.
    @inline(__always)
    var isRunning: Bool { !runs.isEmpty && !runs[runs.count - 1].isStopped && !isEnded }

    /// Brings what is watched up to date with the running mode. Gives the sources that the kernel refused, if there
    /// are any.
    @inline(__always)
    mutating func updateWatches(_ waiter: LoopWaiter) -> [LoopSource]? {
        if servesMainQueue != mainQueue.isWatched { mainQueue.toggle(waiter) }
        return descriptors.update(waiter, served, modes)
    }

    /// Whether a block, an edge or a signalled trigger waits for the next pass.
    var hasWorkNow: Bool {
        performs.contains { serves($0) } || descriptors.hasEdges { serves($0) }
            || triggers.entries.contains { $0.item.isSignalled && serves($0.modes) }
    }

    /// The thread sleeps no more, or must not: true if it must be woken.
    mutating func mustWakeNow() -> Bool { !isEnded && core.mustWake(at: .min) }

    /// The same for a run that has lost the last thing it could wait for.
    mutating func mustWakeToEnd() -> Bool {
        guard core.isParked, !runs.isEmpty, !hasWorkInRun() else { return false }
        return mustWakeNow()
    }
}

extension LoopState {
    /// In a forked child, which lacks the thread, it has ended as well; nothing but this may be read there.
    var isEnded: Bool { hasEnded || core.isShutDown }

    mutating func setEnded() { hasEnded = true }
}

// Timers come and go. The tokens are live.
extension LoopState {
    mutating func addTimer(_ timer: LoopTimer, to mode: TimerLoop.Mode) -> TimerToken {
        let set = modes.adding(modes.index(of: mode), to: ModeTable.nowhere)
        serve(set)
        let token = core.addOwned(timer, group: set)
        if timer.state.keepsLoopRunning {
            modes.addMember(set)
        } else {
            quietTimers.insert(token.slot)
        }
        return token
    }

    /// Has the timer count, or not, as something that a run waits for.
    mutating func setKeepsRunning(_ token: TimerToken, _ keepsRunning: Bool) {
        guard core.isLive(token), keepsRunning == quietTimers.contains(token.slot) else { return }
        let set = core.group(of: token)
        if keepsRunning {
            quietTimers.remove(token.slot)
            modes.addMember(set)
        } else {
            quietTimers.insert(token.slot)
            modes.removeMember(set)
        }
    }

    /// The timer leaves the loop, where it was in these modes.
    @inline(__always)
    mutating func forgetMember(_ token: TimerToken, _ set: ModeTable.SetID) {
        if !quietTimers.isEmpty, quietTimers.remove(token.slot) != nil { return }
        modes.removeMember(set)
    }

    /// Gives the timer in place of nil, to be let go after the lock. Does nothing if the token is stale.
    @inline(__always)
    mutating func removeTimer(_ token: TimerToken, _ timer: inout TimerTarget?) {
        if let set = core.remove(token, &timer) { forgetMember(token, set) }
    }

    mutating func addMode(_ mode: TimerLoop.Mode, to token: TimerToken) {
        setModes(modes.adding(modes.index(of: mode), to: core.group(of: token)), of: token)
    }

    /// True if that was its last mode: it is out of the loop.
    mutating func removeTimer(_ token: TimerToken, from mode: TimerLoop.Mode, _ timer: inout TimerTarget?) -> Bool {
        guard core.isLive(token), let index = modes.known(mode) else { return false }
        let set = modes.removing(index, from: core.group(of: token))
        if modes.isEmpty(set) {
            removeTimer(token, &timer)
            return true
        }
        setModes(set, of: token)
        return false
    }

    private mutating func setModes(_ set: ModeTable.SetID, of token: TimerToken) {
        let former = core.group(of: token)
        guard set != former else { return }
        serve(set)
        core.setGroup(set, of: token)
        if !quietTimers.contains(token.slot) { modes.moveMember(from: former, to: set) }
    }
}
#endif
