// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore
import Synchronization

/// Calls a handler that belongs to an actor on that actor, from any thread.
///
/// Handlers are `@isolated(any)` functions: each one knows its actor, or that it has none (SE-0431).
final class ActorCalls: Sendable {
    private let merges: Bool
    /// Twice the number of ticks that wait for the actor, plus one if a task is about to report them.
    private let unreported = Atomic(0)
    private let reported = Atomic(0)

    /// If `merges` is true, a call that comes while another one waits for the actor is merged into that one, so that a busy
    /// actor is not flooded with ticks.
    init(merges: Bool) {
        self.merges = merges
    }

    /// The number of ticks that the present or latest call on the actor reports: its own, and those of the calls merged into
    /// it.
    var reportedTicks: Int { reported.load(ordering: .acquiring) }

    /// Whether the calling thread is known to be the actor's. Only the main actor's can be recognized: the main thread, or a
    /// thread that runs a block of the main queue.
    static func isHere(_ actor: any Actor) -> Bool { actor === MainActor.shared && MainQueue.isHeld }

    /// Returns true if the calling thread is the actor's: the caller makes the call itself, which needs no closure then.
    func beginHere(on actor: any Actor, ticks: Int) -> Bool {
        guard Self.isHere(actor) else { return false }
        reported.store(ticks, ordering: .releasing)
        return true
    }

    /// Calls the function at once if the calling thread is the actor's. Otherwise calls it in a task, unless `isOff` returns
    /// true by then. In debug builds a task for the main actor causes a usage warning, unless `isNamed`: the actor was named
    /// for the call.
    func call(
        on actor: any Actor,
        isNamed: Bool = false,
        ticks: Int = 0,
        unless isOff: @escaping @Sendable () -> Bool = { false },
        _ function: @escaping @Sendable () -> Void
    ) {
        if beginHere(on: actor, ticks: ticks) { return function() }
        if UsageWarning.isLookedFor, !isNamed, actor === MainActor.shared { Self.reportMainActorElsewhere() }
        submit(to: actor, ticks: ticks, unless: isOff, function)
    }

    private static func reportMainActorElsewhere() {
        UsageWarning.report(
            UsageWarning(
                .mainActorHandlerElsewhere,
                "a handler of the main actor's is called from another thread, by a task: later than the timer fires, and ticks "
                    + "that come meanwhile count as one. To be called at once make it nonisolated, or put the timer into "
                    + "TimerLoop.main"
            )
        )
    }

    /// Calls the function in a task on the actor, even if the calling thread is the actor's; unless `isOff` returns true by
    /// then.
    func submit(
        to actor: any Actor,
        ticks: Int = 0,
        unless isOff: @escaping @Sendable () -> Bool = { false },
        _ function: @escaping @Sendable () -> Void
    ) {
        if merges, wait(with: ticks) { return }
        // Holds virtual time: the main actor's executor does not notify it of its jobs.
        let hold = TimeBase.current.hold("a handler on its actor")
        if actor === MainActor.shared {
            // A task of the main actor goes to it directly, so that calls stay in order.
            Task { @MainActor in
                self.run(on: MainActor.shared, unless: isOff, function)
                hold?.release()
            }
        } else {
            Task {
                await self.run(on: actor, unless: isOff, function)
                hold?.release()
            }
        }
    }

    /// Adds the ticks for the pending task to report. Returns false if there is no such task and the caller must make one.
    private func wait(with ticks: Int) -> Bool {
        var before = unreported.load(ordering: .relaxed)
        while true {
            let (isDone, now) = unreported.compareExchange(
                expected: before,
                desired: (before &+ 2 &* ticks) | 1,
                ordering: .acquiringAndReleasing
            )
            if isDone { return before & 1 == 1 }
            before = now
        }
    }

    private func run(on actor: isolated any Actor, unless isOff: () -> Bool, _ function: () -> Void) {
        // A single exchange: from now on a further call needs a task of its own for its ticks.
        let ticks = unreported.exchange(0, ordering: .acquiringAndReleasing) >> 1
        if isOff() { return }
        reported.store(ticks, ordering: .releasing)
        function()
    }
}

/// Returns a function that calls `function` on its actor, or directly if it has none.
@inline(__always)
func onItsActor(
    merges: Bool = false,
    unless isOff: @escaping @Sendable () -> Bool = { false },
    _ function: __owned @escaping @isolated(any) @Sendable () -> Void
) -> @Sendable () -> Void {
    guard let actor = function.isolation else { return withoutActor(function) }
    let calls = ActorCalls(merges: merges)
    let plain = withoutActor(function)
    return { calls.call(on: actor, unless: isOff, plain) }
}

/// Moves a struct with an `@isolated(any)` function out of its place, as one with the same function as a plain one, which must
/// be called on its actor. A function loses its actor only here.
///
/// Both kinds of function are called alike: the actor is in the function's context, for `isolation` alone. The functions are
/// in structs, since passing a function to generic code wraps it, which must not happen to that of a timer or a link on the
/// hot path. They are moved through memory, since `unsafeBitCast` copies and so counts a reference.
@inline(__always)
private func moveWithoutActor<Isolated, Plain>(_ place: UnsafeMutablePointer<Isolated>, as _: Plain.Type) -> Plain {
    // Safe: both types have the same layout, and the caller uses the place no more, or initializes it anew.
    unsafe UnsafeMutableRawPointer(place).assumingMemoryBound(to: Plain.self).move()
}

/// Converts a struct with an `@isolated(any)` function to one with the same function as a plain one.
@inline(__always)
func withoutActor<Isolated, Plain>(_ isolated: __owned Isolated, as _: Plain.Type) -> Plain {
    unsafe withUnsafeTemporaryAllocation(of: Isolated.self, capacity: 1) { place in
        unsafe place.initializeElement(at: 0, to: isolated)
        return unsafe moveWithoutActor(place.baseAddress!, as: Plain.self)
    }
}

/// Returns the function without its actor. It must be called on that actor.
@inline(__always)
func withoutActor(_ function: __owned @escaping @isolated(any) @Sendable () -> Void) -> @Sendable () -> Void {
    struct Isolated { let function: @isolated(any) @Sendable () -> Void }
    struct Plain { let function: @Sendable () -> Void }
    return withoutActor(Isolated(function: function), as: Plain.self).function
}

/// Returns the function without its actor, and stores that actor in `actor`, which holds nil before. Moves the function, so
/// that no reference is counted. Asking a function for its actor where the function is not in memory would copy it.
@inline(__always)
func withoutActor(
    _ function: consuming (@isolated(any) @Sendable () -> Void)?,
    _ actor: inout (any Actor)?
) -> Callback? {
    struct Isolated { let function: (@isolated(any) @Sendable () -> Void)? }
    struct Plain { let callback: Callback? }
    var place = Isolated(function: consume function)
    return unsafe withUnsafeMutablePointer(to: &place) { place in
        // Most functions have no actor, and to copy nil calls the runtime too, to count no reference.
        if unsafe place.pointee.function?.isolation != nil { actor = unsafe place.pointee.function?.isolation }
        let plain = unsafe moveWithoutActor(place, as: Plain.self)
        unsafe place.initialize(to: Isolated(function: nil))
        return plain.callback
    }
}

private struct Isolated<Value> { let function: @isolated(any) @Sendable (Value) -> Void }
private struct Plain<Value> { let function: @Sendable (Value) -> Void }

/// Returns a function with an argument that calls `function` on its actor, or directly if it has none.
package func onItsActor<Value: Sendable>(
    merges: Bool = false,
    unless isOff: @escaping @Sendable () -> Bool = { false },
    _ function: @escaping @isolated(any) @Sendable (Value) -> Void
) -> @Sendable (Value) -> Void {
    let plain = withoutActor(function)
    guard let actor = function.isolation else { return plain }
    let calls = ActorCalls(merges: merges)
    return { value in calls.call(on: actor, unless: isOff) { plain(value) } }
}

/// Returns a function with an argument without its actor, off the hot path. It must be called on that actor.
package func withoutActor<Value>(
    _ function: @escaping @isolated(any) @Sendable (Value) -> Void
) -> @Sendable (Value) -> Void {
    withoutActor(Isolated(function: function), as: Plain<Value>.self).function
}

/// Returns a function with two arguments without its actor. It must be called on that actor.
func withoutActor<First: Sendable, Second: Sendable>(
    _ function: @escaping @isolated(any) @Sendable (First, Second) -> Void
) -> @Sendable (First, Second) -> Void {
    withoutActor(IsolatedPair(function: function), as: PlainPair<First, Second>.self).function
}

private struct IsolatedPair<First, Second> { let function: @isolated(any) @Sendable (First, Second) -> Void }
private struct PlainPair<First, Second> { let function: @Sendable (First, Second) -> Void }

/// Returns a function with two arguments that calls `function` on its actor, or directly if it has none. Calls are never
/// merged: each one reports other arguments.
package func onItsActor<First: Sendable, Second: Sendable>(
    unless isOff: @escaping @Sendable (First) -> Bool,
    _ function: @escaping @isolated(any) @Sendable (First, Second) -> Void
) -> @Sendable (First, Second) -> Void {
    let plain = withoutActor(function)
    guard let actor = function.isolation else { return plain }
    let calls = ActorCalls(merges: false)
    return { first, second in calls.call(on: actor, unless: { isOff(first) }) { plain(first, second) } }
}
#endif
