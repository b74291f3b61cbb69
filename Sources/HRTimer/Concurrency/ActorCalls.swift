import Synchronization

/// The calls of a handler that belongs to an actor: made on it, whichever thread they come from.
///
/// Handlers are `@isolated(any)` functions, which know their actor (SE-0431): none if they were not given one.
final class ActorCalls: Sendable {
    private let merges: Bool
    private let isWaiting = Atomic(false)

    /// With `merges` a call that comes while another one waits for the actor counts with that: an actor that is busy is not
    /// flooded with ticks.
    init(merges: Bool) {
        self.merges = merges
    }

    /// Calls `here` if the calling thread is the actor's, as that of `TimerLoop.main` is the main actor's; otherwise a task calls
    /// `there`.
    func call(on actor: any Actor, here: () -> Void, there: @escaping @Sendable () async -> Void) {
        let isMain = actor === MainActor.shared
        if isMain, MainQueue.isHeld { return here() }
        if merges, isWaiting.exchange(true, ordering: .acquiringAndReleasing) { return }
        if isMain {
            // Straight to the main actor, in order.
            Task { @MainActor in
                self.isWaiting.store(false, ordering: .releasing)
                await there()
            }
        } else {
            Task {
                await there()
                self.isWaiting.store(false, ordering: .releasing)
            }
        }
    }
}

/// The function, called on its actor, if it has one.
func onItsActor(
    merges: Bool = false,
    _ function: @escaping @isolated(any) @Sendable () -> Void
) -> @Sendable () -> Void {
    struct Isolated { let function: @isolated(any) @Sendable () -> Void }
    struct Plain { let function: @Sendable () -> Void }
    // Both are called alike: the actor stands in the function's context, for `isolation` alone. In structs, since a function that
    // is passed to what is generic is wrapped.
    let plain = unsafeBitCast(Isolated(function: function), to: Plain.self).function
    guard let actor = function.isolation else { return plain }
    let calls = ActorCalls(merges: merges)
    return { calls.call(on: actor, here: plain) { await function() } }
}

private struct Isolated<Value> { let function: @isolated(any) @Sendable (Value) -> Void }
private struct Plain<Value> { let function: @Sendable (Value) -> Void }

/// The same for functions with an argument, off the hot path.
func onItsActor<Value: Sendable>(
    merges: Bool = false,
    _ function: @escaping @isolated(any) @Sendable (Value) -> Void
) -> @Sendable (Value) -> Void {
    let plain = unsafeBitCast(Isolated(function: function), to: Plain<Value>.self).function
    guard let actor = function.isolation else { return plain }
    let calls = ActorCalls(merges: merges)
    return { value in calls.call(on: actor, here: { plain(value) }, there: { await function(value) }) }
}
