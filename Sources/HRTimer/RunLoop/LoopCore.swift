#if os(Linux)
import CHRTimer
import HRTimerCore
import Synchronization

/// What a loop and its timers share, so that a timer needs no weak reference to its loop: a timer in a loop holds this, until
/// the loop lets go of the timer, at the latest when it ends.
final class LoopCore: Sendable {
    let time: TimeBase
    let waiter: LoopWaiter
    let state: Locked<LoopState>
    /// The state's, for the loop's thread without the lock.
    let commit: FireCommit
    let locals = LocalHandlers()
    /// Somebody watches its fires; see `TimerLoop+Lateness`.
    let isWatched = Atomic(false)
    let observer = ObserverPlace()
    /// What a pass may have to look for under the lock: most passes have none of it, and take no lock for it. Set under
    /// the lock; what a pass misses keeps the loop from sleeping.
    private let posted = Atomic<UInt32>(0)
    private let generation = hrt_fork_generation()

    /// In a forked child, which lacks the thread: the loop has ended. What that was changing cannot be taken apart, it
    /// leaks.
    var isInForkedChild: Bool { generation != hrt_fork_generation() }

    struct Posted: OptionSet {
        let rawValue: UInt32
        static let blocks = Posted(rawValue: 1)
        static let triggers = Posted(rawValue: 2)
        /// Of local handlers; not under the lock.
        static let releases = Posted(rawValue: 4)
        /// Of descriptors.
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

    /// Under the lock, when there is none of it.
    func clear(_ what: Posted) {
        posted.bitwiseAnd(~what.rawValue, ordering: .relaxed)
    }
}
#endif
