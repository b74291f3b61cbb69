// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import CHRTimer

/// The name of one timer of one engine.
///
/// The token is stale once the timer is cancelled or has fired for the last time. A token that is stale, or belongs to another
/// engine, is harmless, even if another timer uses the slot by then.
public struct TimerToken: Hashable, Sendable {
    @usableFromInline package let slot: UInt32
    @usableFromInline package let generation: UInt32
    /// The number of the core that issued the token (`FiringCore`).
    @usableFromInline package let owner: UInt32

    @inlinable
    package init(_ token: hrt_token, owner: UInt32 = 0) {
        slot = token.slot
        generation = token.generation
        self.owner = owner
    }

    /// A token that names no timer: generations begin at 1.
    @inlinable package static var stale: TimerToken { TimerToken(hrt_token(slot: 0, generation: 0)) }

    @inlinable
    package var c: hrt_token { hrt_token(slot: slot, generation: generation) }
}
#endif
