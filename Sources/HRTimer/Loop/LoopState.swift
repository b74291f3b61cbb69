// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerCore

/// What a loop keeps under its lock, with the states of the timers and display links in it. Any thread may touch it with the
/// lock held.
///
/// Lock order: a timer's `lock`, and that of a source, trigger or observer, may be held when this lock is taken, never the
/// other way round. While this lock is held, others are taken only to wake the loop's thread, to set the alarm of a
/// `FollowedClock`, and to read a virtual clock or a display's refreshes.
struct LoopState: ~Copyable, Sendable {
    var modes = ModeTable()
    /// The core that fires the timers. Its groups are sets of modes.
    var core: FiringCore
    var spinBudget: Double?
    var performs = OrderedItems<@Sendable () -> Void>()
    var descriptors = WatchedDescriptors()
    var mainQueue = MainQueueWatch()
    var triggers = OrderedItems<LoopTrigger>()
    var observers = OrderedItems<LoopObserver>()
    /// The innermost run; nil if none goes on. In place, so that a pass reads and writes it without counting a reference.
    private(set) var run: Run?
    /// The runs inside whose handlers that one was begun, the outermost first.
    private var outerRuns: [Run] = []
    /// The runs before; nil unless somebody asks for them, since it costs two readings of the clock for each run.
    var runLog: RunLog?
    /// The index of the mode in which a host calls `process`.
    var hostIndex: Int?
    /// Whether the host's `process` serves the main queue too.
    var hostServesMainQueue = false
    var isKeptAlive = false
    /// How many runs have begun.
    var runCount: UInt64 = 0
    /// Checks whether anybody runs the loop; in debug builds only.
    var runWatch: RunWatch?
    /// The slots of the timers that do not keep a run going; these are no members of their modes. Mostly empty.
    private var quietTimers: Set<UInt32> = []
    private var hasEnded = false

    init(now_ns: Int64) {
        core = FiringCore(precision: .coalesced, now_ns: now_ns)
        core.serve(ModeTable.nowhere, false)
    }

    struct Run: Sendable {
        let mode: TimerLoop.Mode
        let index: Int
        /// Whether the main queue counts among the run's sources.
        var servesMainQueue = false
        /// When the run began, if that is recorded.
        var begin_ns = Int64.max
        /// What the present pass of the run fires.
        var limit = PassLimit(now_ns: .min, sequence: 0)
        var isStopped = false
    }
}

extension LoopState {
    /// All runs that are going on, the innermost last.
    var runs: [Run] { outerRuns + (run.map { [$0] } ?? []) }

    /// Begins a run inside the present one, if there is one.
    mutating func push(_ run: Run) {
        if let outer = self.run.take() { outerRuns.append(outer) }
        self.run = run
    }

    /// Ends the innermost run, and returns it.
    mutating func popRun() -> Run? {
        let ended = run.take()
        run = outerRuns.popLast()
        return ended
    }

    mutating func stopRun() { run?.isStopped = true }

    /// Sets what the present pass of the innermost run fires.
    mutating func setLimit(_ limit: PassLimit) { run?.limit = limit }

    /// The index of the mode that the innermost run serves, or between runs of the one that a host serves; -1 for none.
    var served: Int { run?.index ?? hostIndex ?? -1 }

    /// Makes the core fire what is in the mode that is served now, and nothing else.
    mutating func serveGroups() {
        for set in 0..<ModeTable.SetID(modes.setCount) { serve(set) }
    }

    /// Makes the core fire one set of modes or not, by the mode that is served now.
    mutating func serve(_ set: ModeTable.SetID) { core.serve(set, serves(set)) }

    /// Whether the mode that is served now is in a set of modes.
    func serves(_ set: ModeTable.SetID) -> Bool { modes.contains(set, served) }

    /// Whether there is anything that a run in the mode could ever have to do.
    func hasWork(in index: Int) -> Bool {
        isKeptAlive || modes.hasMembers(in: index)
    }

    /// Whether the innermost run, or between runs a host, serves libdispatch's main queue.
    var servesMainQueue: Bool { run?.servesMainQueue ?? hostServesMainQueue }

    /// Whether the innermost run has work or serves the main queue. There must be a run.
    func hasWorkInRun() -> Bool {
        run!.servesMainQueue || hasWork(in: run!.index)
    }

    /// Whether the innermost run is to go on: it was not stopped, and the loop has not ended.
    var isRunning: Bool { run != nil && !run!.isStopped && !isEnded }

    /// Whether something else is watched than the mode that is served needs.
    var mustUpdateWatches: Bool { servesMainQueue != mainQueue.isWatched || descriptors.mustUpdate(served) }

    /// Updates what is watched to the mode that is served. Returns the sources that the kernel refused.
    mutating func updateWatches(_ waiter: LoopWaiter) -> [LoopSource] {
        if servesMainQueue != mainQueue.isWatched { mainQueue.toggle(waiter) }
        return descriptors.mustUpdate(served) ? descriptors.update(waiter, served, modes) : []
    }

    /// Whether a block, an edge or signal of a source, or a signalled trigger waits for the next pass.
    var hasWorkNow: Bool {
        performs.entries.contains { serves($0.modes) } || descriptors.hasEdges(in: served, modes)
            || triggers.entries.contains { $0.item.isSignalled && serves($0.modes) }
    }

    /// Notes that the thread must not sleep. Returns true if the caller must wake it.
    mutating func mustWakeNow() -> Bool { !isEnded && core.mustWake(at: .min) }

    /// Calls `mustWakeNow()` if the loop sleeps in a run that has lost the last thing it could wait for; else returns false.
    mutating func mustWakeToEnd() -> Bool {
        guard core.isParked, run != nil, !hasWorkInRun() else { return false }
        return mustWakeNow()
    }
}

extension LoopState {
    /// Whether the loop has ended. True also in a forked child, which lacks the thread; nothing but this may be read there.
    var isEnded: Bool { hasEnded || core.isShutDown }

    mutating func setEnded() { hasEnded = true }
}

// Adds, changes and removes timers. Tokens must be live, unless a function allows others.
extension LoopState {
    mutating func addTimer(_ owner: any LoopOwner, keepsRunning: Bool = true, to mode: TimerLoop.Mode) -> TimerToken {
        let set = modes.adding(modes.index(of: mode), to: ModeTable.nowhere)
        serve(set)
        let token = core.addOwned(owner, group: set)
        if keepsRunning {
            modes.addMember(set)
        } else {
            quietTimers.insert(token.slot)
        }
        return token
    }

    /// Sets whether the timer counts as something that a run waits for. Does nothing if the token is stale.
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

    /// Removes a timer that leaves the loop from the members of its modes.
    mutating func forgetMember(_ token: TimerToken, _ set: ModeTable.SetID) {
        if !quietTimers.isEmpty, quietTimers.remove(token.slot) != nil { return }
        modes.removeMember(set)
    }

    /// Moves the timer out, to `timer`, which was nil: to be released after unlocking. Does nothing if the token is stale.
    mutating func removeTimer(_ token: TimerToken, _ timer: inout TimerTarget?) {
        if let set = core.remove(token, &timer) { forgetMember(token, set) }
    }

    mutating func addMode(_ mode: TimerLoop.Mode, to token: TimerToken) {
        setModes(modes.adding(modes.index(of: mode), to: core.group(of: token)), of: token)
    }

    /// Removes the timer from a mode. Returns true if that was its last mode, so that it is out of the loop.
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
