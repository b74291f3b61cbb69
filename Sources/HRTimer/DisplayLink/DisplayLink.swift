#if os(Linux)
import HRTimerCore

/// A link that calls a handler once for each refresh of a display: `CADisplayLink`.
///
///     let link = DisplayLink { link in draw(for: link.targetTimestamp) }
///     link.add(to: .current, forMode: .default)
///
/// A link without a rate uses the refreshes of `VsyncSource.shared`: those of a real display, if there is one. A link with a
/// rate uses those of a virtual display, a grid of instants of `CLOCK_MONOTONIC` that starts when its first link is added to a
/// loop. Links of one rate share it. The loop's thread makes the calls, at a refresh or after it, never before it.
///
/// Refreshes are skipped, never queued. If the handler returns after the next refresh, the next call comes at the first
/// refresh after its return. If the loop was kept from calling, there is one late call, for the latest refresh.
/// `droppedFrames` counts the refreshes without a call.
///
/// The loop holds a link that was added to it, and the link holds its handler; `invalidate()` ends both. Any thread may use
/// all members, and so may the handler.
public final class DisplayLink: Sendable {
    /// A link's handler.
    public typealias Handler = @Sendable (DisplayLink) -> Void
    /// A handler, or a function of an actor such as `{ @MainActor link in … }`, which is called on that actor.
    ///
    /// The call is made at once if the loop's thread is the actor's, otherwise by a task. Its values are determined when the
    /// actor runs it: it is for the latest refresh by then, and refreshes that passed meanwhile count as dropped. A closure in
    /// code of a global actor belongs to that actor.
    public typealias Block = @isolated(any) @Sendable (DisplayLink) -> Void
    /// An unapplied method of a target. A method of an actor is called on that actor.
    public typealias Action<Target> = @Sendable (Target) -> Block

    let state: Locked<LinkState>

    /// Creates a link to a virtual display with `framesPerSecond` refreshes a second, at most 10,000. Zero, negative values
    /// and NaN give 60.
    public convenience init(framesPerSecond: Double, @_inheritActorContext handler: @escaping Block) {
        self.init(frameRate: FrameRate(framesPerSecond), handler: handler)
    }

    /// Creates a link to a virtual display with this rate.
    public init(frameRate: FrameRate, @_inheritActorContext handler: @escaping Block) {
        state = Locked(LinkState(handler: Self.plain(handler), on: handler.isolation, rate: frameRate))
    }

    /// Creates a link to the display of `source`; if that is nil, to the display of `VsyncSource.shared`.
    ///
    /// On a loop of virtual time, as in tests, a link without a source has a virtual display of 60 Hz.
    public convenience init(source: VsyncSource? = nil, @_inheritActorContext handler: @escaping Block) {
        self.init(source: source, handler: Self.plain(handler), on: handler.isolation)
    }

    /// Creates a link whose handler is called on `actor`, if there is one, even if the handler's type does not say so.
    package init(
        source: VsyncSource? = nil,
        rate: FrameRate? = nil,
        handler: @escaping Handler,
        on actor: (any Actor)?
    ) {
        state = Locked(LinkState(handler: handler, on: actor, rate: rate, source: source))
    }

    deinit {
        state.withLock { $0.source }?.forget(ObjectIdentifier(self))
    }

    /// Creates a link that calls `action` on `target`. The link holds the target until it is invalidated.
    public convenience init<Target: AnyObject & Sendable>(
        framesPerSecond: Double,
        target: Target,
        action: @escaping Action<Target>
    ) {
        let rate = FrameRate(framesPerSecond)
        self.init(rate: rate, handler: Self.calling(target, action), on: action(target).isolation)
    }

    /// Creates a link to the display of `source`, or of `VsyncSource.shared` if that is nil, that calls `action` on `target`.
    /// The link holds the target until it is invalidated.
    public convenience init<Target: AnyObject & Sendable>(
        source: VsyncSource? = nil,
        target: Target,
        action: @escaping Action<Target>
    ) {
        self.init(source: source, handler: Self.calling(target, action), on: action(target).isolation)
    }

    /// Creates a link that calls `action` on `target` without holding it. The link invalidates itself when the target is gone.
    public convenience init<Target: AnyObject & Sendable>(
        framesPerSecond: Double,
        weakTarget target: Target,
        action: @escaping Action<Target>
    ) {
        let rate = FrameRate(framesPerSecond)
        self.init(rate: rate, handler: Self.calling(weakly: target, action), on: action(target).isolation)
    }

    /// Creates a link to the display of `source`, or of `VsyncSource.shared` if that is nil, that calls `action` on `target`
    /// without holding it. The link invalidates itself when the target is gone.
    public convenience init<Target: AnyObject & Sendable>(
        source: VsyncSource? = nil,
        weakTarget target: Target,
        action: @escaping Action<Target>
    ) {
        self.init(source: source, handler: Self.calling(weakly: target, action), on: action(target).isolation)
    }

    private static func calling<Target: AnyObject & Sendable>(
        _ target: Target,
        _ action: @escaping Action<Target>
    ) -> Handler {
        { link in plain(action(target))(link) }
    }

    private static func calling<Target: AnyObject & Sendable>(
        weakly target: Target,
        _ action: @escaping Action<Target>
    ) -> Handler {
        { [weak target] link in
            if let target { plain(action(target))(link) } else { link.invalidate() }
        }
    }

    /// Converts the block to a handler without an actor, which must be called on the block's actor. See `withoutActor`.
    private static func plain(_ block: @escaping Block) -> Handler {
        struct Isolated { let function: Block }
        struct Plain { let function: Handler }
        return withoutActor(Isolated(function: block), as: Plain.self).function
    }
}

extension DisplayLink {
    /// Adds the link to a loop, which calls the handler when it runs in `mode`. A link may be in several modes of one loop.
    /// Adding it to a second loop, to a loop that has ended or is on another clock than the link's source, or after
    /// `invalidate()`, does nothing. When its loop has ended, the link may be added to another one.
    public func add(to loop: TimerLoop, forMode mode: TimerLoop.Mode) {
        add(to: loop, forMode: mode, holder: nil)
    }

    /// Adds the link to a loop, which holds `holder` as long as it has the link.
    package func add(to loop: TimerLoop, forMode mode: TimerLoop.Mode, holder: (any AnyObject & Sendable)?) {
        let source = resolvedSource(for: loop.time)
        let timer = state.withLock { state -> LoopTimer? in
            guard state.handler != nil else { return nil }
            if let timer = state.timer { return timer }
            let now_ns = loop.time.now_ns
            state.source = state.source ?? source
            guard state.source?.begin(loop.time, now_ns: now_ns) == true else { return nil }
            state.time = loop.time
            let stay = LinkStay(self, in: loop.core, number: state.nextStay(), holder: holder)
            // The interval is never used: each call arms the next instant.
            let timer = LoopTimer(
                fireAt: MonotonicInstant(nanoseconds: state.resolveNextCall(now_ns)),
                interval: .seconds(1_000_000),
                repeats: true
            ) { _ in stay.fire() }
            timer.precision = state.precision
            timer.keepsLoopRunning = state.keepsLoopRunning
            state.enter(timer)
            return timer
        }
        guard let timer else { return }
        loop.add(timer, forMode: mode)
        guard loop.contains(timer, forMode: mode) else { return letGo(of: timer) }
        let isIn = state.withLock { state in
            // The loop may have ended just now.
            guard state.timer === timer else { return false }
            state.loop = loop
            state.modes.insert(mode)
            return true
        }
        guard isIn else { return }
        if let handlers = state.withLock({ $0.lateHandlers }) {
            loop.core.watch().lowerBound(to: handlers.leastBound_ns)
        }
        loop.logRuns()
        tellSource()
    }

    /// Removes the link from one mode. After the last mode, the loop no longer holds the link; it may be added again.
    public func remove(from loop: TimerLoop, forMode mode: TimerLoop.Mode) {
        guard let timer = state.withLock({ $0.timer }), loop.contains(timer, forMode: mode) else { return }
        loop.remove(timer, forMode: mode)
        state.withLock { _ = $0.modes.remove(mode) }
        letGo(of: timer)
        tellSource()
    }

    /// Lets the timer and the link no longer hold each other, if no loop holds them any more.
    private func letGo(of timer: LoopTimer) {
        guard !timer.isInLoop else { return }
        let left = state.withLock { $0.timer === timer ? $0.leave() : nil }
        timer.invalidate()
        withExtendedLifetime(left) {}
    }

    /// Ends the stay because the loop no longer has the link. If the link was not removed, the loop has ended.
    func hasLeft(_ stay: UInt) {
        let left = state.withLock { $0.stays == stay ? $0.leave() : nil }
        if left != nil { tellSource() }
    }

    /// Ends the link for good, unlike `isPaused` and `remove`: it leaves all modes, and its handler is freed. Does not wait
    /// for a call on another thread. Idempotent; may be called from the handler and from any thread.
    public func invalidate() {
        // Freed without a lock: freeing the handler's captures may call this again.
        let (handler, timer) = state.withLock { state -> (Handler?, LoopTimer?) in
            (state.handler.take(), state.leave())
        }
        timer?.invalidate()
        tellSource()
        withExtendedLifetime(handler) {}
    }

    /// Tells the source the link's state. The link's loop and modes determine where its source is watched.
    func tellSource() {
        let (source, loop, modes, isActive, request) = state.withLock { state in
            (state.source, state.loop, state.modes, !state.isPaused, state.request.framesPerSecond)
        }
        source?.update(self, loop: modes.isEmpty ? nil : loop, modes: modes, isActive: isActive, request: request)
    }

    /// Returns the link's source, or chooses one. Called without the lock: finding the shared source may take time.
    private func resolvedSource(for time: TimeBase) -> VsyncSource {
        let (source, rate) = state.withLock { ($0.source, $0.rate) }
        if let source { return source }
        if rate == nil, time.hasRealDisplays { return .shared }
        return .virtual(rate ?? .standard, on: time)
    }
}
#endif
