import Synchronization

/// Who decides about a call that is made up before its deadline, while the engine's thread spins up to that.
///
///     state      means                                left for   by whom
///     idle       no call is made up ahead             waiting    the thread, with the engine's lock
///     waiting    the thread spins up to the deadline  begun      the thread, when the deadline has come; without the lock
///                                                     broken     whoever calls it off, or has something earlier; with the lock
///     begun      the handler runs, or is about to     idle       the thread, with the lock
///     broken     the call is not made                 idle       the thread, with the lock
///
/// `waiting` is left once, by one exchange: so cancelling is decided exactly once, and the thread takes no lock between the
/// deadline and the handler.
final class Spin: Sendable {
    private static let idle: UInt32 = 0
    private static let waiting: UInt32 = 1
    private static let begun: UInt32 = 2
    private static let broken: UInt32 = 3

    private let state = Atomic(Spin.idle)

    /// With the lock: a call is made up, and the thread is about to spin.
    func wait() {
        assert(state.load(ordering: .relaxed) == Self.idle)
        state.store(Self.waiting, ordering: .relaxed)
    }

    /// The deadline has come. False if the call was called off.
    func begin() -> Bool {
        // Acquires what whoever broke it wrote; relaxed on success would do, as nothing was written for the handler.
        state.compareExchange(expected: Self.waiting, desired: Self.begun, ordering: .acquiringAndReleasing).exchanged
    }

    /// With the lock: the call is not to be made now. True if it will not be, and the thread must be woken to see that; false
    /// if it has begun, was broken already, or there is none.
    func breakOff() -> Bool {
        state.compareExchange(expected: Self.waiting, desired: Self.broken, ordering: .acquiringAndReleasing).exchanged
    }

    /// With the lock: whether the handler runs, or is about to.
    var hasBegun: Bool { state.load(ordering: .acquiring) == Self.begun }

    /// With the lock: the thread is through with the call. True if it was made.
    func end() -> Bool {
        defer { state.store(Self.idle, ordering: .relaxed) }
        return state.load(ordering: .relaxed) != Self.broken
    }
}
