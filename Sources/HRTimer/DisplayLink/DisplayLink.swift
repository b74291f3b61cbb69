import HRTimerCore

/// Calls a handler once a refresh of a display: `CADisplayLink`.
///
///     let link = DisplayLink { link in draw(for: link.targetTimestamp) }
///     link.add(to: .current, forMode: .default)
///
/// Without a rate the refreshes are those of `VsyncSource.shared`: a real display's, where there is one. With a rate they are
/// a virtual display's, a grid of instants of `CLOCK_MONOTONIC` that starts when its first link is added to a loop; links of
/// one rate share it. Calls come on the loop's thread, at a refresh or after it, never before it.
///
/// Refreshes are skipped, never queued. If the handler returns after the next refresh, the call after it comes at the
/// first refresh that follows. If the loop was kept from calling, the late call is for the latest refresh, and once only.
/// `droppedFrames` counts what was left out.
///
/// The loop holds a link that was added to it, and the link its handler; `invalidate()` ends both. Other members may be
/// used from any thread, and from the handler.
public final class DisplayLink: Sendable {
    /// What a link calls.
    public typealias Handler = @Sendable (DisplayLink) -> Void
    /// The same, or a function of an actor, as `{ @MainActor link in … }`, which is called on that: at once where the loop's
    /// thread is the actor's, elsewhere by a task. What a call reports is worked out when the actor gets to it: it is
    /// for the latest refresh by then, and those that passed meanwhile are dropped ones. A closure in code of a global
    /// actor belongs to that.
    public typealias Block = @isolated(any) @Sendable (DisplayLink) -> Void
    /// A method of a target, not applied yet; one of an actor is called on that.
    public typealias Action<Target> = @Sendable (Target) -> Block

    let state: Locked<LinkState>

    /// A link to a display of that many refreshes a second. Zero, negative values and NaN give 60; at most 10,000.
    public convenience init(framesPerSecond: Double, @_inheritActorContext handler: @escaping Block) {
        self.init(frameRate: FrameRate(framesPerSecond), handler: handler)
    }

    /// A link to a display of that rate.
    public init(frameRate: FrameRate, @_inheritActorContext handler: @escaping Block) {
        state = Locked(LinkState(handler: Self.plain(handler), on: handler.isolation, rate: frameRate))
    }

    /// A link to the display of `source`: unless another one is given, the one that was found when this was first asked for.
    ///
    /// On a loop of virtual time, as in tests, a link without a source has a virtual display of 60 Hz.
    public convenience init(source: VsyncSource? = nil, @_inheritActorContext handler: @escaping Block) {
        self.init(source: source, handler: Self.plain(handler), on: handler.isolation)
    }

    /// For a handler that is called on `actor`, if there is one, even if its type does not say so.
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

    /// A link that calls `action` on `target`, which it holds until it is invalidated.
    public convenience init<Target: AnyObject & Sendable>(
        framesPerSecond: Double,
        target: Target,
        action: @escaping Action<Target>
    ) {
        let rate = FrameRate(framesPerSecond)
        self.init(rate: rate, handler: Self.calling(target, action), on: action(target).isolation)
    }

    /// The same on the display of `source`, or if it is nil on the one that was found.
    public convenience init<Target: AnyObject & Sendable>(
        source: VsyncSource? = nil,
        target: Target,
        action: @escaping Action<Target>
    ) {
        self.init(source: source, handler: Self.calling(target, action), on: action(target).isolation)
    }

    /// A link that calls `action` on `target` without holding it; it invalidates itself when the target is gone.
    public convenience init<Target: AnyObject & Sendable>(
        framesPerSecond: Double,
        weakTarget target: Target,
        action: @escaping Action<Target>
    ) {
        let rate = FrameRate(framesPerSecond)
        self.init(rate: rate, handler: Self.calling(weakly: target, action), on: action(target).isolation)
    }

    /// The same on the display of `source`, or if it is nil on the one that was found.
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

    /// To be called where its actor is. See `LoopTimer`'s.
    private static func plain(_ block: @escaping Block) -> Handler {
        struct Isolated { let function: Block }
        struct Plain { let function: Handler }
        return withoutActor(Isolated(function: block), as: Plain.self).function
    }
}

extension DisplayLink {
    /// Has the loop call the handler when it runs in `mode`. A link may be in several modes of one loop; adding it to a
    /// second loop, to one that has ended or is on another clock than its source's, or after `invalidate()`, does nothing. When
    /// its loop ends it may be added to another.
    public func add(to loop: TimerLoop, forMode mode: TimerLoop.Mode) {
        add(to: loop, forMode: mode, holder: nil)
    }

    /// The loop holds `holder` as long as it has the link.
    package func add(to loop: TimerLoop, forMode mode: TimerLoop.Mode, holder: (any AnyObject & Sendable)?) {
        let source = resolvedSource(for: loop.time)
        let call = LinkCall(self, holder: holder)
        let timer = state.withLock { state -> LoopTimer? in
            guard state.handler != nil else { return nil }
            if let timer = state.timer { return timer }
            let now_ns = loop.time.now_ns
            state.source = state.source ?? source
            guard state.source?.begin(loop.time, now_ns: now_ns) == true else { return nil }
            state.time = loop.time
            // The interval is never used: each call sets the instant of the next.
            let timer = LoopTimer(
                fireAt: MonotonicInstant(nanoseconds: state.resolveNextCall(now_ns)),
                interval: .seconds(1_000_000),
                repeats: true
            ) { [call] _ in call.fire() }
            timer.precision = state.precision
            // Nobody else has the timer yet.
            timer.state.companion = call
            state.enter(timer, call)
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
        loop.logRuns()
        tellSource()
    }

    /// Takes the link out of one mode. Out of its last mode the loop lets go of it; it may be added again.
    public func remove(from loop: TimerLoop, forMode mode: TimerLoop.Mode) {
        guard let timer = state.withLock({ $0.timer }), loop.contains(timer, forMode: mode) else { return }
        loop.remove(timer, forMode: mode)
        state.withLock { _ = $0.modes.remove(mode) }
        letGo(of: timer)
        tellSource()
    }

    /// Timer and link hold each other; no loop holds them any more.
    private func letGo(of timer: LoopTimer) {
        guard !timer.isInLoop else { return }
        let left = state.withLock { $0.timer === timer ? $0.leave() : nil }
        timer.invalidate()
        withExtendedLifetime(left) {}
    }

    /// The loop of that stay has let go of the link: it has ended, if the link has not left it before.
    func hasLeft(_ stay: UInt) {
        let left = state.withLock { $0.stays == stay ? $0.leave() : nil }
        if left != nil { tellSource() }
    }

    /// Ends the link for good, unlike `isPaused` and `remove`: out of all modes, its handler freed. Does not wait for a call
    /// that another thread makes. Idempotent; from the handler and from any thread.
    public func invalidate() {
        // Let go without a lock: freeing what the handler captured may come back here.
        let (handler, timer) = state.withLock { state -> (Handler?, LoopTimer?) in
            (state.handler.take(), state.leave())
        }
        timer?.invalidate()
        tellSource()
        withExtendedLifetime(handler) {}
    }

    /// Which loop and modes the link is in decides where its source is watched.
    func tellSource() {
        let (source, loop, modes, isActive, request) = state.withLock { state in
            (state.source, state.loop, state.modes, !state.isPaused, state.request.framesPerSecond)
        }
        source?.update(self, loop: modes.isEmpty ? nil : loop, modes: modes, isActive: isActive, request: request)
    }

    /// Without the lock: to find the shared source may take some time.
    private func resolvedSource(for time: TimeBase) -> VsyncSource {
        let (source, rate) = state.withLock { ($0.source, $0.rate) }
        if let source { return source }
        if rate == nil, time.hasRealDisplays { return .shared }
        return .virtual(rate ?? .standard, on: time)
    }
}
