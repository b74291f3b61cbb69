package import CHRTimer

/// Names one timer of one engine. Goes stale when the timer is cancelled or has fired for the last time; using a stale
/// token is harmless, also when the engine has given the place to another timer since.
public struct TimerToken: Hashable, Sendable {
    package let slot: UInt32
    package let generation: UInt32

    package init(_ token: hrt_token) {
        slot = token.slot
        generation = token.generation
    }

    /// No timer's: generations begin at 1.
    package static let stale = TimerToken(hrt_token(slot: 0, generation: 0))

    package var c: hrt_token { hrt_token(slot: slot, generation: generation) }
}
