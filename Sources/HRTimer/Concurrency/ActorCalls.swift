#if os(Linux)
import HRTimerCore
import Synchronization

/// Calls a handler that belongs to an actor on that actor, from any thread.
///
/// Handlers are `@isolated(any)` functions, which know their actor, or that they have none (SE-0431).
final class ActorCalls: Sendable {
    private let merges: Bool
    /// The ticks of calls that wait for the actor, times two, plus one if a task is about to report them.
    private let unreported = Atomic(0)
    private let reported = Atomic(0)

    /// With `merges` a call that comes while another one waits for the actor counts with that one: a busy actor is not
    /// flooded with ticks.
    init(merges: Bool) {
        self.merges = merges
    }

    /// How many ticks the present or latest call on the actor reports: its own, and those of calls that counted with
    /// it.
    var reportedTicks: Int { reported.load(ordering: .acquiring) }

    /// Whether the calling thread is the actor's, as far as is known: the thread of `TimerLoop.main` is the main
    /// actor's.
    static func isHere(_ actor: any Actor) -> Bool { actor === MainActor.shared && MainQueue.isHeld }

    /// Calls the function at once if the calling thread is the actor's; otherwise in a task, unless `isOff` by then. In debug
    /// builds it warns of that, unless the actor was named for it.
    func call(
        on actor: any Actor,
        isNamed: Bool = false,
        ticks: Int = 0,
        unless isOff: @escaping @Sendable () -> Bool = { false },
        _ function: @escaping @Sendable () -> Void
    ) {
        if Self.isHere(actor) {
            reported.store(ticks, ordering: .releasing)
            return function()
        }
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

    /// The same, always in a task.
    func submit(
        to actor: any Actor,
        ticks: Int = 0,
        unless isOff: @escaping @Sendable () -> Bool = { false },
        _ function: @escaping @Sendable () -> Void
    ) {
        if merges, wait(with: ticks) { return }
        // The main actor's executor does not notify virtual time of its jobs.
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

    /// Adds the ticks for the pending task to report. False if there is none, and one must be made.
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
        // One exchange: from now on a further call needs a task of its own for its ticks.
        let ticks = unreported.exchange(0, ordering: .acquiringAndReleasing) >> 1
        if isOff() { return }
        reported.store(ticks, ordering: .releasing)
        function()
    }
}

/// The function, called on its actor, if it has one.
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

/// Converts a struct with an `@isolated(any)` function to one with the same function without that, to be called on its
/// actor. Here alone, and below where the actor is asked for too, does a function lose its actor.
///
/// Both functions are called alike: the actor is in the function's context, for `isolation` alone. They are in structs,
/// since a function passed to generic code is wrapped, which must not happen to a timer's or link's on the hot path.
/// They are moved through memory, since `unsafeBitCast` copies and so counts a reference.
@inline(__always)
func withoutActor<Isolated, Plain>(_ isolated: __owned Isolated, as _: Plain.Type) -> Plain {
    withUnsafeTemporaryAllocation(of: Isolated.self, capacity: 1) { place in
        place.initializeElement(at: 0, to: isolated)
        // Unsafe: both types have the same layout, and the value is moved out exactly once.
        return UnsafeMutableRawPointer(place.baseAddress!).assumingMemoryBound(to: Plain.self).move()
    }
}

/// The function without its actor, to be called where that is.
@inline(__always)
func withoutActor(_ function: __owned @escaping @isolated(any) @Sendable () -> Void) -> @Sendable () -> Void {
    struct Isolated { let function: @isolated(any) @Sendable () -> Void }
    struct Plain { let function: @Sendable () -> Void }
    return withoutActor(Isolated(function: function), as: Plain.self).function
}

/// The function without its actor, which is given in place of nil: moved, without a reference counted. To ask a function for its
/// actor where it is not in memory copies it.
@inline(__always)
func withoutActor(
    _ function: consuming (@isolated(any) @Sendable () -> Void)?,
    _ actor: inout (any Actor)?
) -> Callback? {
    struct Isolated { let function: (@isolated(any) @Sendable () -> Void)? }
    struct Plain { let callback: Callback? }
    var place = Isolated(function: consume function)
    return withUnsafeMutablePointer(to: &place) { place in
        actor = place.pointee.function?.isolation
        // Unsafe: both types have the same layout, and what is moved out is nil afterwards.
        let plain = UnsafeMutableRawPointer(place).assumingMemoryBound(to: Plain.self).move()
        place.initialize(to: Isolated(function: nil))
        return plain.callback
    }
}

private struct Isolated<Value> { let function: @isolated(any) @Sendable (Value) -> Void }
private struct Plain<Value> { let function: @Sendable (Value) -> Void }

/// The function, called on its actor, if it has one: with an argument.
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

/// The same as the other of this name for a function with an argument, off the hot path.
package func withoutActor<Value>(
    _ function: @escaping @isolated(any) @Sendable (Value) -> Void
) -> @Sendable (Value) -> Void {
    withoutActor(Isolated(function: function), as: Plain<Value>.self).function
}

/// The same for a function with two arguments; see `withoutActor`.
func withoutActor<First: Sendable, Second: Sendable>(
    _ function: @escaping @isolated(any) @Sendable (First, Second) -> Void
) -> @Sendable (First, Second) -> Void {
    withoutActor(IsolatedPair(function: function), as: PlainPair<First, Second>.self).function
}

private struct IsolatedPair<First, Second> { let function: @isolated(any) @Sendable (First, Second) -> Void }
private struct PlainPair<First, Second> { let function: @Sendable (First, Second) -> Void }

/// The same for functions with two arguments. No calls are merged: each one reports other arguments.
func onItsActor<First: Sendable, Second: Sendable>(
    unless isOff: @escaping @Sendable (First) -> Bool,
    _ function: @escaping @isolated(any) @Sendable (First, Second) -> Void
) -> @Sendable (First, Second) -> Void {
    let plain = withoutActor(function)
    guard let actor = function.isolation else { return plain }
    let calls = ActorCalls(merges: false)
    return { first, second in calls.call(on: actor, unless: { isOff(first) }) { plain(first, second) } }
}
#endif
