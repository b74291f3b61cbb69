// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
import HRTimerCore
import Synchronization

/// The part of a loop that it shares with its timers, so that a timer needs no weak reference to its loop. A timer in a loop
/// holds this object until the loop releases the timer, at the latest when the loop ends.
final class LoopCore: Sendable {
    let time: TimeBase
    let waiter: LoopWaiter
    let state: Locked<LoopState>
    /// The `FireCommit` of the state, which the loop's thread uses without the lock.
    let commit: FireCommit
    /// The activities that some observer was added for. A pass without observers reads this instead of taking the lock.
    let observed = Atomic<UInt32>(0)
    let locals = LocalHandlers()
    let observer = ObserverPlace()
    /// Flags for work that a pass must look for under the lock. Most passes find no flag set, and then take no lock for it. Set
    /// with the lock held; a flag that a pass misses keeps the loop from sleeping.
    private let posted = Atomic<UInt32>(0)
    private let generation = hrt_fork_generation()

    /// Whether this is a forked child, which lacks the loop's thread: the loop has ended there. Data that the thread was
    /// changing cannot be dismantled, so it leaks.
    var isInForkedChild: Bool { generation != hrt_fork_generation() }

    struct Posted: OptionSet {
        let rawValue: UInt32
        static let blocks = Posted(rawValue: 1)
        /// There are triggers, signalled or not.
        static let triggers = Posted(rawValue: 2)
        /// Local handlers were released. Not set under the lock.
        static let releases = Posted(rawValue: 4)
        /// Sources of descriptors were signalled, or are no longer held.
        static let signals = Posted(rawValue: 8)
    }

    init(time: TimeBase, waiter: LoopWaiter) {
        self.time = time
        self.waiter = waiter
        let initial = LoopState(now_ns: time.now_ns)
        commit = initial.core.commit
        state = Locked(initial)
        if !time.isSame(as: .kernel) { LoopRegistry.onVirtualTime.add(self) }
    }

    /// Calls `body` with the lock held, and wakes the loop's thread if `body` returns true.
    func update(_ body: (inout LoopState) -> Bool) {
        if state.withLock(body) { waiter.wake() }
    }

    func post(_ what: Posted) {
        posted.bitwiseOr(what.rawValue, ordering: .relaxed)
    }

    func hasPosted(_ what: Posted) -> Bool {
        posted.load(ordering: .relaxed) & what.rawValue != 0
    }

    /// Clears a flag when no such work is left: with the lock held, except for `.releases`.
    func clear(_ what: Posted) {
        posted.bitwiseAnd(~what.rawValue, ordering: .relaxed)
    }
}

/// Loops of the process that others must find. They are held weakly.
final class LoopRegistry: Sendable {
    /// The loops that have watched a descriptor: one thread may read what is meant for another thread's source.
    static let watching = LoopRegistry()
    /// The loops on virtual times.
    static let onVirtualTime = LoopRegistry()

    private struct Reference: Sendable {
        weak let core: LoopCore?
    }

    private let references = Locked<[Reference]>([])
    /// Read without the lock by those who mostly find no loop.
    private let count = Atomic(0)

    /// Adds a loop, unless it is here.
    func add(_ core: LoopCore) {
        references.withLock { references in
            references.removeAll { $0.core == nil }
            if !references.contains(where: { $0.core === core }) { references.append(Reference(core: core)) }
            count.store(references.count, ordering: .relaxed)
        }
    }

    var all: [LoopCore] {
        if count.load(ordering: .relaxed) == 0 { return [] }
        return references.withLock { $0.compactMap(\.core) }
    }
}

/// The clocks on which a point in time had already passed when a timer was given it. Such a point counts as the instant at
/// which the timer is added to a loop; a point that passes later keeps its grid.
///
/// A timer does not know which loop it will be added to. So each clock that it may go by is asked: the kernel's, that of the
/// time that the caller is in, and those of loops on virtual times. On a time that did not exist yet nothing had passed.
struct PassedOn: Sendable {
    private var clocks: [TimeID] = []

    static let none = PassedOn()

    private init() {}

    /// Asks on which clocks the point has passed. `deadline_ns` returns the point on the monotonic clock of a time.
    init(_ deadline_ns: (TimeBase) -> Int64) {
        ask(.kernel, deadline_ns)
        let current = TimeBase.current.on(.monotonic)
        if !current.isSame(as: .kernel) { ask(current, deadline_ns) }
        for core in LoopRegistry.onVirtualTime.all { ask(core.time, deadline_ns) }
    }

    private mutating func ask(_ time: TimeBase, _ deadline_ns: (TimeBase) -> Int64) {
        if !contains(time), deadline_ns(time) < time.now_ns { clocks.append(time.id) }
    }

    func contains(_ time: TimeBase) -> Bool { clocks.contains(time.id) }
}
#endif
