// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import Synchronization

/// The decision about a callback that is prepared before its deadline: called or withdrawn, while the core's thread spins.
///
///     state      means                                   left for   by
///     idle       nothing is prepared                     prepared   the thread, with the core's lock
///     prepared   the thread spins until the deadline     committed  the thread, at the deadline; without the lock
///                                                        withdrawn  any thread that changes the timer, or arms an earlier
///                                                                   one; with the lock
///     committed  the handler runs, or is about to        idle       the thread, with the lock
///     withdrawn  the handler is not called for this      idle       the thread, with the lock
///
/// One exchange ends `prepared`: so a cancellation is decided exactly once, and the thread takes no lock between the deadline
/// and the handler. Checked exhaustively: Tests/Protocols/commit.pml.
package final class FireCommit: Sendable {
    private static let idle: UInt32 = 0
    private static let prepared: UInt32 = 1
    private static let committed: UInt32 = 2
    private static let withdrawn: UInt32 = 3

    private let state = Atomic(FireCommit.idle)

    /// Notes that a callback is prepared and that the thread is about to spin. Must be called with the lock held.
    func prepare() { state.store(Self.prepared, ordering: .relaxed) }

    /// Commits the call, since the deadline has come. Returns true if the handler is called now, false if the call was
    /// withdrawn.
    package func commit() -> Bool {
        // Acquires what the withdrawing thread wrote. On success relaxed ordering would do, as nothing was written for the
        // handler.
        state.compareExchange(expected: Self.prepared, desired: Self.committed, ordering: .acquiringAndReleasing)
            .exchanged
    }

    /// Withdraws the call. Returns true if the handler will not be called and the caller must wake the thread to see that;
    /// false if the call was already committed or withdrawn, or nothing is prepared. Must be called with the lock held.
    package func withdraw() -> Bool {
        state.compareExchange(expected: Self.prepared, desired: Self.withdrawn, ordering: .acquiringAndReleasing)
            .exchanged
    }

    /// Whether the handler runs, or is about to. Must be read with the lock held.
    var isCommitted: Bool { state.load(ordering: .acquiring) == Self.committed }

    /// Whether the call was withdrawn. Must be read with the lock held, except on virtual time.
    package var isWithdrawn: Bool { state.load(ordering: .relaxed) == Self.withdrawn }

    /// Notes that the thread is done with the call. Must be called with the lock held.
    func reset() { state.store(Self.idle, ordering: .relaxed) }
}
#endif
