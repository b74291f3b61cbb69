#if os(Linux)
public import CHRTimer

/// Names one timer of one engine. It is stale once the timer is cancelled or has fired for the last time. A stale
/// token, or one of another engine, is harmless, also when another timer has the slot since.
public struct TimerToken: Hashable, Sendable {
    @usableFromInline package let slot: UInt32
    @usableFromInline package let generation: UInt32
    /// The number of the schedule that made it.
    @usableFromInline package let owner: UInt32

    @inlinable
    package init(_ token: hrt_token, owner: UInt32 = 0) {
        slot = token.slot
        generation = token.generation
        self.owner = owner
    }

    /// Names no timer: generations begin at 1.
    @inlinable package static var stale: TimerToken { TimerToken(hrt_token(slot: 0, generation: 0)) }

    @inlinable
    package var c: hrt_token { hrt_token(slot: slot, generation: generation) }
}
#endif
