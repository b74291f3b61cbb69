// SPDX-License-Identifier: Apache-2.0
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
public final class DisplayLink: @unchecked Sendable {
    // Sendable: `place` is touched with `lock` held. So is `state`; while the link is in a loop, the loop's lock is held as well,
    // and is taken after `lock`. The loop's thread, which finds the link through the loop, needs only the loop's lock to prepare
    // and finish a call. Two threads that touch the state therefore have at least one lock in common.

    /// A link's handler.
    package typealias Handler = @Sendable (DisplayLink) -> Void
    /// A handler, or a function of an actor such as `{ @MainActor link in … }`, which is called on that actor.
    ///
    /// The call is made at once if the loop's thread is the actor's, otherwise by a task. Its values are determined when the
    /// actor runs it: it is for the latest refresh by then, and refreshes that passed meanwhile count as dropped. A closure in
    /// code of a global actor belongs to that actor.
    public typealias Block = @isolated(any) @Sendable (DisplayLink) -> Void
    /// An unapplied method of a target. A method of an actor is called on that actor.
    typealias Action<Target> = @Sendable (Target) -> Block

    // Safe: guarded by the loop's lock, and in no loop by the link's own, which always guards `place`. Accesses are exclusive by that.
    @safe @exclusivity(unchecked) var state: LinkState
    /// The loop that the link is in, and its token there.
    @safe @exclusivity(unchecked) var place = LoopTimer.Link()
    let lock = LockInPlace()
    /// How calls reach the handler's actor; nil if the loop's thread calls the handler.
    let delivery: Delivery?

    /// The delivery of calls to the handler's actor. Calls that wait for the actor are merged into one.
    struct Delivery: Sendable {
        let actor: any Actor
        let calls = ActorCalls(merges: true)
    }

    /// Creates a link to a virtual display with `framesPerSecond` refreshes a second, at most 10,000.
    ///
    /// Zero, negative values and NaN give 60.
    public convenience init(framesPerSecond: Double, @_inheritActorContext handler: @escaping Block) {
        self.init(frameRate: FrameRate(framesPerSecond), handler: handler)
    }

    /// Creates a link to a virtual display with this rate.
    public init(frameRate: FrameRate, @_inheritActorContext handler: @escaping Block) {
        delivery = handler.isolation.map { Delivery(actor: $0) }
        state = LinkState(handler: Self.plain(handler), rate: frameRate)
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
        delivery = actor.map { Delivery(actor: $0) }
        state = LinkState(handler: handler, rate: rate, source: source)
    }

    deinit { state.source?.forget(ObjectIdentifier(self)) }

    /// Creates a link that calls `action` on `target` without holding it, and that invalidates itself when the target is gone.
    ///
    /// Without a rate it is a link to the display of `VsyncSource.shared`. To hold the target, say so in a block:
    /// `{ link in game.draw(link) }`.
    public convenience init<Target: AnyObject & Sendable>(
        framesPerSecond: Double? = nil,
        weakTarget target: Target,
        action: @escaping @Sendable (Target) -> Block
    ) {
        let rate = framesPerSecond.map { FrameRate($0) }
        self.init(rate: rate, handler: Self.calling(weakly: target, action), on: action(target).isolation)
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
    /// Adds the link to a loop, which calls the handler when it runs in `mode`.
    ///
    /// A link may be in several modes of one loop. Adding it to a second loop, to a loop that has ended or is on another clock
    /// than the link's source, or after `invalidate()`, does nothing. When its loop has ended, the link may be added to another
    /// one.
    public func add(to loop: TimerLoop, forMode mode: TimerLoop.Mode) {
        add(to: loop, forMode: mode, holder: nil)
    }

    /// Adds the link to a loop, which holds `holder` as long as it has the link.
    package func add(to loop: TimerLoop, forMode mode: TimerLoop.Mode, holder: (any AnyObject & Sendable)?) {
        let core = loop.core
        let chosen = resolvedSource(for: core.time)
        var (hasEnded, isIn) = (false, false)
        let mustWake = withPlace { place in
            guard place.core == nil, state.handler != nil, !core.isInForkedChild else { return false }
            guard state.begin(self, chosen, core.time) else { return false }
            return core.state.withLock { loopState in
                hasEnded = loopState.isEnded
                isIn = !hasEnded
                if hasEnded { return false }
                place.core = core
                place.token = loopState.addTimer(self, keepsRunning: state.keepsLoopRunning, to: mode)
                if loopState.runLog == nil { loopState.runLog = RunLog() }
                state.enter(loop, mode, holder: holder)
                return arm(place.token, &loopState.core, core.time.now_ns)
            }
        }
        if mustWake { core.waiter.wake() }
        update { present, loopState, place in
            guard !isIn, present === core, loopState.core.isLive(place.token) else { return false }
            isIn = true
            loopState.addMode(mode, to: place.token)
            state.modes.insert(mode)
            return loopState.mustWakeNow()
        }
        if hasEnded, UsageWarning.isLookedFor { loop.reportTimerAfterEnd() }
        guard isIn else { return }
        if UsageWarning.isLookedFor { loop.watchForRun() }
        if let handlers = withState({ $0.lateHandlers }) { core.watch().lowerBound(to: handlers.leastBound_ns) }
        tellSource()
    }

    /// Removes the link from one mode.
    ///
    /// After the last mode, the loop no longer holds the link; it may be added again.
    public func remove(from loop: TimerLoop, forMode mode: TimerLoop.Mode) {
        var released = Released()
        update { core, loopState, place in
            guard core === loop.core else { return false }
            var target: TimerTarget?
            if loopState.removeTimer(place.token, from: mode, &target) {
                released.object = leave(&loopState, &place)
            } else {
                state.modes.remove(mode)
            }
            return loopState.mustWakeToEnd()
        }
        tellSource()
        withExtendedLifetime(released) {}
    }

    /// Ends the link for good, unlike `isPaused` and `remove`: it leaves all modes, and its handler is freed.
    ///
    /// Does not wait for a call on another thread. Idempotent; may be called from the handler and from any thread.
    public func invalidate() {
        // Freed without a lock: freeing the handler's captures may call this again.
        var released = Released()
        var former: LoopCore?
        update {
            swap(&released.function, &$0.handler)
        } inLoop: { core, loop, place in
            former = core
            released.object = leave(&loop, &place)
            return loop.mustWakeToEnd()
        }
        if UsageWarning.isLookedFor { former?.endRunWatchIfEmpty() }
        tellSource()
        withExtendedLifetime(released) {}
    }

    /// Leaves a loop that has ended. If the link was removed meanwhile, it may be in another loop, which it stays in.
    package func coreHasEnded() {
        var released = Released()
        var hasLeft = false
        update { _, loop, place in
            hasLeft = loop.isEnded
            if hasLeft { released.object = leave(&loop, &place) }
            return false
        }
        if hasLeft { tellSource() }
        withExtendedLifetime(released) {}
    }

    /// Takes the link out of its loop. Returns what the loop held for it, to be released without a lock.
    private func leave(_ loop: inout LoopState, _ place: inout LoopTimer.Link) -> AnyObject? {
        // This is the link itself, which the caller holds.
        var target: TimerTarget?
        loop.removeTimer(place.token, &target)
        place = LoopTimer.Link()
        return state.leave()
    }

    /// Tells the source the link's state. The link's loop and modes determine where its source is watched.
    func tellSource() {
        let (source, loop, modes, isActive, request) = withState { state in
            (state.source, state.loop, state.modes, !state.isPaused, state.request.framesPerSecond)
        }
        source?.update(self, loop: modes.isEmpty ? nil : loop, modes: modes, isActive: isActive, request: request)
    }

    /// Returns the link's source, or chooses one. Called without the lock: finding the shared source may take time.
    private func resolvedSource(for time: TimeBase) -> VsyncSource {
        let (source, rate) = withState { ($0.source, $0.rate) }
        if let source { return source }
        if rate == nil, time.hasRealDisplays { return .shared }
        return .virtual(rate ?? .standard, on: time)
    }
}
#endif
