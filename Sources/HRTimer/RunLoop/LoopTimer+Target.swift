#if os(Linux)
public import HRTimerCore

/// Target and action, as `NSTimer` has them: a method that takes the timer, given as `Target.method`.
///
/// With `target` the timer holds the target until it is invalid, and with it the user information. With `weakTarget` it does
/// not: when the target is gone the timer invalidates itself, at its next deadline. Everything else is as with a block.
extension LoopTimer {
    /// A method of a target, not applied yet. One of an actor, as of a `@MainActor` type, is called on that, see `Block`.
    public typealias Action<Target> = @Sendable (Target) -> Block

    /// A timer that calls `target`, which it holds, one interval from now, and if it repeats at every interval after that.
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

    /// The same without holding the target.
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

    /// A timer that calls `target`, which it holds, at a point in time, and if it repeats at every interval after that.
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

    /// The same without holding the target.
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

    /// A timer that calls `target`, which it holds, in the default mode of the calling thread's loop.
    @available(*, noasync)
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

    /// The same without holding the target.
    @available(*, noasync)
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

    /// What the call reports goes with it: the loop may be calls ahead by the time that the actor gets to it.
    private func call(on actor: any Actor, _ calls: ActorCalls, _ handler: OwnerFunction) {
        let ticks = withState { $0.ticksOfCall(calls) }
        calls.call(on: actor, ticks: ticks, unless: { self.isRevoked }) { handler.call(self) }
    }

    /// The block, called on its actor, if it has one.
    @inline(__always)
    static func handler(_ block: __owned @escaping Block) -> OwnerFunction {
        guard let actor = block.isolation else { return plain(block) }
        let plain = plain(block)
        let calls = ActorCalls(merges: true)
        return OwnerFunction { timer in unsafeDowncast(timer, to: LoopTimer.self).call(on: actor, calls, plain) }
    }

    private var isRevoked: Bool { withState { $0.isRevoked } }

    /// To be called where its actor is. Apart, since what is generic would wrap it, on the hot path.
    @inline(__always)
    private static func plain(_ block: __owned @escaping Block) -> OwnerFunction {
        struct Isolated { let function: Block }
        // Any object, by which the core calls it, is passed as a timer is, and it is called with a timer alone.
        return withoutActor(Isolated(function: block), as: OwnerFunction.self)
    }
}
#endif
