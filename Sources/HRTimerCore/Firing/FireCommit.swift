#if os(Linux)
import Synchronization

/// Who decides about a callback that is prepared before its deadline, while the core's thread spins up to that.
///
///     state      means                                   left for   by
///     idle       nothing is prepared                     prepared   the thread, with the core's lock
///     prepared   the thread spins up to the deadline     committed  the thread, at the deadline; without the lock
///                                                        withdrawn  who changes the timer, or arms an earlier one;
///                                                                   with the lock
///     committed  the handler runs, or is about to        idle       the thread, with the lock
///     withdrawn  the handler is not called for this      idle       the thread, with the lock
///
/// `prepared` is left once, by one exchange: so cancelling is decided exactly once, and the thread takes no lock between the
/// deadline and the handler. Checked exhaustively: Tests/Protocols/commit.pml.
package final class FireCommit: Sendable {
    private static let idle: UInt32 = 0
    private static let prepared: UInt32 = 1
    private static let committed: UInt32 = 2
    private static let withdrawn: UInt32 = 3

    private let state = Atomic(FireCommit.idle)

    /// With the lock: a callback is prepared, and the thread is about to spin.
    func prepare() { state.store(Self.prepared, ordering: .relaxed) }

    /// The deadline has come: true if the handler is called now. False if the call was withdrawn.
    package func commit() -> Bool {
        // Acquires what the withdrawing thread wrote; on success relaxed would do, as nothing was written for the
        // handler.
        state.compareExchange(expected: Self.prepared, desired: Self.committed, ordering: .acquiringAndReleasing)
            .exchanged
    }

    /// With the lock: the handler is not to be called now. True if it will not be, and the thread must be woken to see
    /// that; false if it is committed or withdrawn already, or nothing is prepared.
    package func withdraw() -> Bool {
        state.compareExchange(expected: Self.prepared, desired: Self.withdrawn, ordering: .acquiringAndReleasing)
            .exchanged
    }

    /// With the lock: whether the handler runs, or is about to.
    var isCommitted: Bool { state.load(ordering: .acquiring) == Self.committed }

    /// With the lock.
    var isWithdrawn: Bool { state.load(ordering: .relaxed) == Self.withdrawn }

    /// With the lock: the thread is through with it.
    func reset() { state.store(Self.idle, ordering: .relaxed) }
}
#endif
