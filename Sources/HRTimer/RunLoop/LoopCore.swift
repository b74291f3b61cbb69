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
#endif
