#if os(Linux)
public import HRTimerCore

/// Target and action, as in `NSTimer`: a method that takes the timer, passed as `Target.method`.
///
/// With `target` the timer holds the target, and the user information, until it is invalid. With `weakTarget` it does not hold
/// the target: when the target is gone, the timer invalidates itself at its next deadline. Everything else is as with a block.
extension LoopTimer {
    /// A method of a target, not applied yet. An actor's method, as of a `@MainActor` type, is called there; see `Block`.
    public typealias Action<Target> = @Sendable (Target) -> Block

    /// A timer that calls `target`, which it holds, one interval from now, and if it repeats, at every interval after that.
    public convenience init<Target: AnyObject & Sendable>(
        timeInterval: some TimeSpan,
        target: Target,
        action: @escaping Action<Target>,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) {
        let block = Self.calling(target, action)
        self.init(timeInterval: timeInterval, repeats: repeats, userInfo: userInfo, block: block)
    }

    /// A timer that calls a target without holding it, one interval from now, and if it repeats, at every interval after that.
    public convenience init<Target: AnyObject & Sendable>(
        timeInterval: some TimeSpan,
        weakTarget target: Target,
        action: @escaping Action<Target>,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) {
        let block = Self.calling(weakly: target, action)
        self.init(timeInterval: timeInterval, repeats: repeats, userInfo: userInfo, block: block)
    }

    /// A timer that calls `target`, which it holds, at a point in time, and if it repeats, at every interval after that.
    public convenience init<Target: AnyObject & Sendable>(
        fireAt point: some TimePoint,
        interval: some TimeSpan,
        target: Target,
        action: @escaping Action<Target>,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) {
        let block = Self.calling(target, action)
        self.init(fireAt: point, interval: interval, repeats: repeats, userInfo: userInfo, block: block)
    }

    /// A timer that calls a target without holding it, at a point in time, and if it repeats, at every interval after that.
    public convenience init<Target: AnyObject & Sendable>(
        fireAt point: some TimePoint,
        interval: some TimeSpan,
        weakTarget target: Target,
        action: @escaping Action<Target>,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) {
        let block = Self.calling(weakly: target, action)
        self.init(fireAt: point, interval: interval, repeats: repeats, userInfo: userInfo, block: block)
    }

    /// Makes a timer that calls `target`, which it holds, in the default mode of the calling thread's loop.
    @available(
        *,
        noasync,
        message: "add a LoopTimer to TimerLoop.main, which runs by itself under an async main, or to a thread's loop"
    )
    @discardableResult
    public static func scheduled<Target: AnyObject & Sendable>(
        timeInterval: some TimeSpan,
        target: Target,
        action: @escaping Action<Target>,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) -> LoopTimer {
        let block = calling(target, action)
        return scheduled(timeInterval: timeInterval, repeats: repeats, userInfo: userInfo, block: block)
    }

    /// Makes a timer that calls a target without holding it, in the default mode of the calling thread's loop.
    @available(
        *,
        noasync,
        message: "add a LoopTimer to TimerLoop.main, which runs by itself under an async main, or to a thread's loop"
    )
    @discardableResult
    public static func scheduled<Target: AnyObject & Sendable>(
        timeInterval: some TimeSpan,
        weakTarget target: Target,
        action: @escaping Action<Target>,
        userInfo: (any Sendable)? = nil,
        repeats: Bool
    ) -> LoopTimer {
        let block = calling(weakly: target, action)
        return scheduled(timeInterval: timeInterval, repeats: repeats, userInfo: userInfo, block: block)
    }

    static func calling<Target: AnyObject & Sendable>(_ target: Target, _ action: @escaping Action<Target>) -> Handler {
        let calls = ActorCalls(merges: true)
        return { timer in call(action, target, timer, calls) }
    }

    static func calling<Target: AnyObject & Sendable>(
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
        return OwnerFunction { timer in unsafeDowncast(timer, to: LoopTimer.self).call(on: actor, calls, plain) }
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
