// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

extension LoopTimer {
    /// A method of a target, not applied yet.
    package typealias Action<Target> = @Sendable (Target) -> Block

    /// A timer that calls `Target.method` of a target that it does not hold, one interval from now, and if it repeats, at every
    /// interval after that.
    ///
    /// When the target is gone, the timer invalidates itself at its next deadline. All else is as with a block. To hold the
    /// target, say so in a block: `{ timer in model.tick(timer) }`. An actor's method, as of a `@MainActor` type, is called there;
    /// see `Block`.
    public convenience init<Target: AnyObject & Sendable>(
        timeInterval: some TimeSpan,
        weakTarget target: Target,
        action: @escaping @Sendable (Target) -> Block,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) {
        let block = Self.calling(weakly: target, action)
        self.init(timeInterval: timeInterval, repeats: repeats, userInfo: userInfo, block: block)
    }

    /// Returns a block that calls `action` on `target`, which it holds.
    package static func calling<Target: AnyObject & Sendable>(
        _ target: Target,
        _ action: @escaping Action<Target>
    ) -> Handler {
        let calls = ActorCalls(merges: true)
        return { timer in call(action, target, timer, calls) }
    }

    private static func calling<Target: AnyObject & Sendable>(
        weakly target: Target,
        _ action: @escaping Action<Target>
    ) -> Handler {
        let calls = ActorCalls(merges: true)
        return { [weak target] timer in
            guard let target else {
                timer.invalidate()
                return
            }
            call(action, target, timer, calls)
        }
    }

    private static func call<Target: AnyObject & Sendable>(
        _ action: @escaping Action<Target>,
        _ target: Target,
        _ timer: LoopTimer,
        _ calls: ActorCalls
    ) {
        let method = action(target)
        guard let actor = method.isolation else { return plain(method).call(timer) }
        timer.call(on: actor, calls, plain(method))
    }

    /// Calls the handler on its actor, with what this call reports: the loop may be calls ahead when the actor gets to it.
    private func call(on actor: any Actor, _ calls: ActorCalls, _ handler: OwnerFunction) {
        let ticks = withState { $0.ticksOfCall(calls) }
        if calls.beginHere(on: actor, ticks: ticks) { return handler.call(self) }
        calls.call(on: actor, ticks: ticks, unless: { self.isRevoked }) { handler.call(self) }
    }

    /// Returns the block as a function that calls it on its actor, if it has one.
    static func handler(_ block: __owned @escaping Block) -> OwnerFunction {
        guard let actor = block.isolation else { return plain(block) }
        let plain = plain(block)
        let calls = ActorCalls(merges: true)
        // Safe: the core passes the owner, which is the timer.
        return OwnerFunction { timer in unsafe unsafeDowncast(timer, to: LoopTimer.self).call(on: actor, calls, plain) }
    }

    private var isRevoked: Bool { withState { $0.isRevoked } }

    /// Returns the block without its actor, to be called where the actor is. A separate function, because generic code would
    /// wrap the block, which must not happen on the hot path.
    private static func plain(_ block: __owned @escaping Block) -> OwnerFunction {
        struct Isolated { let function: Block }
        // The core calls the function with an object of any class. It is passed as a timer is, and always is one.
        return withoutActor(Isolated(function: block), as: OwnerFunction.self)
    }
}
#endif
