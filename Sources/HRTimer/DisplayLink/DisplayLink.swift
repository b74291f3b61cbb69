public import HRTimerCore

/// Calls a handler once a refresh: `CADisplayLink`, on a virtual display.
///
///     let link = DisplayLink(framesPerSecond: 60) { link in draw(for: link.targetTimestamp) }
///     link.add(to: .current, forMode: .default)
///
/// The refreshes are a grid of instants of `CLOCK_MONOTONIC` that starts when the link is first added to a loop; they are
/// not those of any real screen. Calls come on the loop's thread, at a refresh or after it, never before it.
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
    /// The same, or a function of an actor, as `{ @MainActor link in … }`, which is called on that: at once where the loop's thread
    /// is the actor's, elsewhere by a task, refreshes that come meanwhile counting as one.
    public typealias Block = @isolated(any) @Sendable (DisplayLink) -> Void
    /// A method of a target, not applied yet; one of an actor is called on that.
    public typealias Action<Target> = @Sendable (Target) -> Block

    private let state: Locked<State>

    private struct State: Sendable {
        /// Nil once the link is invalid.
        var handler: Handler?
        let rate: FrameRate
        var grid: FrameGrid?
        var divisor: Int64 = 1
        var preferred = 0.0
        var isPaused = false
        /// Refreshes before this one do not count as dropped: there was nobody to call.
        var due: Int64 = 0
        var timestamp_ns: Int64?
        var target_ns: Int64?
        var droppedFrames = 0
        /// How often what decides about the next call was changed.
        var changes: UInt = 0
        /// That of the loop it is in or was in last.
        var time = TimeBase.kernel
        var timer: LoopTimer?
    }

    /// A link to a display of that many refreshes a second. Zero, negative values and NaN give 60; at most 10,000.
    public convenience init(framesPerSecond: Double, handler: @escaping Block) {
        self.init(frameRate: FrameRate(framesPerSecond), handler: handler)
    }

    /// A link to a display of that rate.
    public init(frameRate: FrameRate, handler: @escaping Block) {
        state = Locked(State(handler: Self.handler(handler), rate: frameRate))
    }

    /// A link that calls `action` on `target`, which it holds until it is invalidated.
    public convenience init<Target: AnyObject & Sendable>(
        framesPerSecond: Double,
        target: Target,
        action: @escaping Action<Target>
    ) {
        let calls = ActorCalls(merges: true)
        self.init(framesPerSecond: framesPerSecond) { link in link.call(action, target, calls) }
    }

    /// A link that calls `action` on `target` without holding it; it invalidates itself when the target is gone.
    public convenience init<Target: AnyObject & Sendable>(
        framesPerSecond: Double,
        weakTarget target: Target,
        action: @escaping Action<Target>
    ) {
        let calls = ActorCalls(merges: true)
        self.init(framesPerSecond: framesPerSecond) { [weak target] link in
            guard let target else {
                link.invalidate()
                return
            }
            link.call(action, target, calls)
        }
    }

    private func call<Target: AnyObject & Sendable>(
        _ action: @escaping Action<Target>,
        _ target: Target,
        _ calls: ActorCalls
    ) {
        let method = action(target)
        guard let actor = method.isolation else { return Self.plain(method)(self) }
        calls.call(on: actor, unless: { !self.isValid }) { Self.plain(method)(self) }
    }

    /// The block, called on its actor, if it has one.
    private static func handler(_ block: @escaping Block) -> Handler {
        let plain = plain(block)
        guard let actor = block.isolation else { return plain }
        let calls = ActorCalls(merges: true)
        return { link in calls.call(on: actor, unless: { !link.isValid }) { plain(link) } }
    }

    /// See `LoopTimer`'s.
    private static func plain(_ block: @escaping Block) -> Handler {
        struct Isolated { let function: Block }
        struct Plain { let function: Handler }
        return unsafeBitCast(Isolated(function: block), to: Plain.self).function
    }
}

extension DisplayLink {
    /// The refresh that the present or latest call belongs to, not the instant of the call; before the first call the
    /// present instant.
    public var timestamp: MonotonicInstant {
        MonotonicInstant(nanoseconds: state.withLock { $0.timestamp_ns } ?? now_ns)
    }

    /// The refresh that the next call is for: when the frame now being prepared should appear. Before the first call it is
    /// what `timestamp` is.
    public var targetTimestamp: MonotonicInstant {
        MonotonicInstant(nanoseconds: state.withLock { $0.target_ns } ?? now_ns)
    }

    /// The time between two refreshes of the display, whatever the rate of calls.
    public var duration: Duration {
        let rate = state.withLock { $0.rate }
        return .nanoseconds(FrameGrid(anchor_ns: 0, rate: rate).instant_ns(1))
    }

    /// The display's rate.
    public var maximumFramesPerSecond: Double { state.withLock { $0.rate.framesPerSecond } }

    /// The wished rate of calls; 0, as at first, is the display's own. A wish: what is used is the display's rate divided by
    /// a whole number, the nearest such rate, of two equally near ones the slower. Negative values and NaN count as 0.
    public var preferredFramesPerSecond: Double {
        get { state.withLock { $0.preferred } }
        set {
            rearm { state, _ in
                state.preferred = newValue > 0 ? newValue : 0
                state.divisor = state.rate.divisor(forPreferred: newValue)
            }
        }
    }

    /// The rate of calls in use.
    public var actualFramesPerSecond: Double {
        state.withLock { $0.rate.framesPerSecond / Double($0.divisor) }
    }

    /// Whether calls are held back. After a pause they go on at the next refresh; what passed meanwhile is not counted.
    public var isPaused: Bool {
        get { state.withLock { $0.isPaused } }
        set { rearm { state, _ in state.isPaused = newValue } }
    }

    /// Refreshes so far that should have had a call and had none, because the handler or the loop was busy.
    public var droppedFrames: Int { state.withLock { $0.droppedFrames } }

    /// False once invalidated.
    public var isValid: Bool { state.withLock { $0.handler != nil } }

    /// Has the loop call the handler when it runs in `mode`. A link may be in several modes of one loop; adding it to a
    /// second loop, or after `invalidate()`, does nothing.
    public func add(to loop: TimerLoop, forMode mode: TimerLoop.Mode) {
        let timer = state.withLock { state -> LoopTimer? in
            guard state.handler != nil else { return nil }
            if let timer = state.timer { return timer }
            let now_ns = loop.time.now_ns
            if state.grid == nil { state.grid = FrameGrid(anchor_ns: now_ns, rate: state.rate) }
            // The interval is never used: each call sets the instant of the next.
            let timer = LoopTimer(
                fireAt: MonotonicInstant(nanoseconds: Self.aim(&state, now_ns)),
                interval: .seconds(1_000_000),
                repeats: true
            ) { [self] _ in fire() }
            state.time = loop.time
            state.timer = timer
            return timer
        }
        guard let timer else { return }
        loop.add(timer, forMode: mode)
        letGo(of: timer)
    }

    /// Takes the link out of one mode. Out of its last mode the loop lets go of it; it may be added again.
    public func remove(from loop: TimerLoop, forMode mode: TimerLoop.Mode) {
        guard let timer = state.withLock({ $0.timer }) else { return }
        loop.remove(timer, forMode: mode)
        letGo(of: timer)
    }

    /// Timer and link hold each other; no loop holds them any more.
    private func letGo(of timer: LoopTimer) {
        guard !timer.isInLoop else { return }
        timer.invalidate()
        state.withLock { state in
            if state.timer === timer { state.timer = nil }
        }
    }

    /// Ends the link: out of all modes, its handler freed. Idempotent; from the handler and from any thread.
    public func invalidate() {
        // Let go without a lock: freeing what the handler captured may come back here.
        let (handler, timer) = state.withLock { state -> (Handler?, LoopTimer?) in
            defer {
                state.handler = nil
                state.timer = nil
            }
            return (state.handler, state.timer)
        }
        timer?.invalidate()
        withExtendedLifetime(handler) {}
    }
}

extension DisplayLink {
    private var now_ns: Int64 { state.withLock { $0.time.now_ns } }

    /// One due refresh.
    private func fire() {
        let handler = state.withLock { state -> Handler? in
            guard let grid = state.grid, !state.isPaused else { return nil }
            let now_ns = state.time.now_ns
            let latest = grid.number(at: now_ns)
            state.droppedFrames += Int(clamping: max(0, (latest - state.due) / state.divisor))
            state.timestamp_ns = grid.instant_ns(latest)
            state.due = grid.next(after: now_ns, divisor: state.divisor)
            state.target_ns = grid.instant_ns(state.due)
            return state.handler
        }
        handler?(self)
        rearm { state, now_ns in
            guard let grid = state.grid, !state.isPaused else { return }
            // What passed during the call has no call.
            let next = grid.next(after: now_ns, divisor: state.divisor)
            state.droppedFrames += Int(clamping: max(0, (next - state.due) / state.divisor))
        }
    }

    /// Sets which refresh is due next, and gives its instant.
    private static func aim(_ state: inout State, _ now_ns: Int64) -> Int64 {
        guard let grid = state.grid, !state.isPaused else { return .max }
        state.due = grid.next(after: now_ns, divisor: state.divisor)
        return grid.instant_ns(state.due)
    }

    /// Changes what decides about the next call.
    private func rearm(_ change: (inout State, _ now_ns: Int64) -> Void) {
        var (timer, next_ns, changes) = state.withLock { state -> (LoopTimer?, Int64, UInt) in
            let now_ns = state.time.now_ns
            change(&state, now_ns)
            state.changes &+= 1
            return (state.timer, Self.aim(&state, now_ns), state.changes)
        }
        while true {
            // Without the lock: the loop may end with this.
            timer?.fireInstant = MonotonicInstant(nanoseconds: next_ns)
            if state.withLock({ $0.changes == changes }) { return }
            // Another thread changed something meanwhile: its instant may just have been replaced by an older one.
            (timer, next_ns, changes) = state.withLock { state in
                (state.timer, Self.aim(&state, state.time.now_ns), state.changes)
            }
        }
    }
}
