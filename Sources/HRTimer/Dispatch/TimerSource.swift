#if os(Linux)
public import HRTimerCore

/// A timer with the verbs of GCD's `DispatchSourceTimer`, on a `TimerEngine`, without its crashes.
///
///     let source = TimerSource()
///     source.schedule(deadline: .now.advanced(by: .milliseconds(1)), repeating: .milliseconds(1))
///     source.setEventHandler { print(source.data) }
///     source.activate()
///
/// The event handler is never called early, never while it is still running, and once for any number of missed ticks:
/// `data` is their number. Without a queue it runs on the engine's own thread, where no thread hop delays it; it must
/// then be short. Made with a `DispatchQueue` it runs there.
///
/// Every order of calls is safe, from any thread and from the handlers. What GCD answers with a crash has a meaning here:
/// a surplus `resume()` does nothing, and the last reference may go in any state; the source then stops quietly and its
/// cancel handler is not called, unless `cancel()` was called before. The reference keeps the source alive: a handler that
/// mentions it keeps it for ever, unless `cancel()` frees the handlers.
///
/// Deadlines are on `CLOCK_MONOTONIC`, which stands still while the system is suspended.
public final class TimerSource: Sendable {
    @usableFromInline package let core: SourceCore

    /// A source that is not active yet and runs its handlers on the engine's thread.
    ///
    /// Strict ones count leeway as none: they fire at the deadline, even if another timer could share the wake-up.
    public convenience init(engine: TimerEngine = .shared, isStrict: Bool = false) {
        self.init(engine: engine, target: nil, isStrict: isStrict)
    }

    /// A source that is not active yet and runs its handlers on the loop's thread, in a pass in one of `modes`: later than on
    /// the engine's thread by a wake-up of the loop. What the loop has not run when it ends is not called.
    public convenience init(
        engine: TimerEngine = .shared,
        loop: TimerLoop,
        modes: [TimerLoop.Mode] = [.common],
        isStrict: Bool = false
    ) {
        self.init(engine: engine, target: .init { loop.perform(inModes: modes, order: 0, $0) }, isStrict: isStrict)
    }

    /// The same in one mode.
    public convenience init(
        engine: TimerEngine = .shared,
        loop: TimerLoop,
        mode: TimerLoop.Mode,
        isStrict: Bool = false
    ) {
        self.init(engine: engine, loop: loop, modes: [mode], isStrict: isStrict)
    }

    @inline(__always)
    package init(engine: TimerEngine, target: SourceCore.Target?, isStrict: Bool = false) {
        core = SourceCore(engine: engine, target: target, isStrict: isStrict)
    }

    deinit {
        // Not retained for the call: it is there until this returns.
        Unmanaged.passUnretained(core)._withUnsafeGuaranteedRef { $0.abandon() }
    }

    /// Sets deadline, interval and leeway, in place of those before. The count of ticks not yet delivered is dropped.
    ///
    /// - Parameters:
    ///   - deadline: when to fire first. A past one fires at once, and a repeating source counts every interval since it;
    ///     `distantPast` means now, `distantFuture` means not until scheduled again.
    ///   - interval: between nominal deadlines; nil fires once, zero or less counts as 0.1 ms.
    ///   - leeway: how much later than the deadline the source may fire to share a wake-up; negative counts as 0, and more
    ///     than half the interval as half. `.shared` and all engines in `.coalesced` precision make use of it; the others, and
    ///     a strict source, fire at the deadline with any leeway.
    ///
    /// From the event handler it replaces the next deadline. A source that has fired once may be scheduled again. After
    /// `cancel()` it does nothing. No allocation; O(1).
    ///
    /// To move later what waits to fire once without leeway, as a timeout is kept from coming, takes no lock: one atomic
    /// exchange. The engine then wakes at most once for each deadline that it knew, and among equal deadlines the source
    /// counts as armed at that wake-up.
    public func schedule(deadline: MonotonicInstant, repeating interval: Duration? = nil, leeway: Duration = .zero) {
        if interval == nil, leeway.attoseconds == 0, core.postpone(to: deadline.nanoseconds) { return }
        core.schedule(deadline, Recurrence(every: interval, policy: .merge), leeway)
    }

    /// The same for a repeating source whose grid begins a random part of an interval after `deadline`; see `TimerPhase`.
    public func schedule<Instant: TimerInstant>(
        deadline: Instant,
        repeating interval: Duration,
        leeway: Duration = .zero,
        phase: TimerPhase
    ) {
        core.schedule(deadline, Recurrence(every: interval, policy: .merge), leeway, phase)
    }

    /// How much later than its nominal deadline each call of a repeating source comes, at random; nil at first, for none. The
    /// grid stays. A new one counts at once; one without a seed gets one. See `Jitter`.
    public var jitter: Jitter? {
        get { core.jitter }
        set { core.setJitter(newValue) }
    }

    /// The same on the time of day. Steps of the clock move the deadline with it: one forward makes what it passes fire at
    /// once.
    ///
    /// The engine of that clock keeps the deadline, and has this source's own engine call: on a queue as late as ever, on the
    /// engine's thread by one more wake-up.
    @_disfavoredOverload
    public func schedule(deadline: WallInstant, repeating interval: Duration? = nil, leeway: Duration = .zero) {
        core.schedule(deadline, Recurrence(every: interval, policy: .merge), leeway)
    }

    /// The same in boot time, which goes on while the system is suspended.
    @_disfavoredOverload
    public func schedule(deadline: BootTimeInstant, repeating interval: Duration? = nil, leeway: Duration = .zero) {
        core.schedule(deadline, Recurrence(every: interval, policy: .merge), leeway)
    }

    /// The same once `delay` has passed, counted from now by the engine's clock.
    public func schedule(after delay: Duration, repeating interval: Duration? = nil, leeway: Duration = .zero) {
        let now = MonotonicInstant(nanoseconds: core.core.time.now_ns)
        schedule(deadline: now.advanced(by: delay), repeating: interval, leeway: leeway)
    }

    /// What becomes of nominal deadlines that passed before the source could fire: `.merge` at first, GCD's rule. From the next
    /// call on. A source that was cancelled, or whose engine has ended, has `.merge` again.
    public var policy: MissedTickPolicy {
        get { core.policy }
        set { core.setPolicy(newValue) }
    }

    /// How exact this source is, if that is to be more than its engine is; nil, as at first, for the engine's own precision.
    ///
    /// Less than the engine's counts as the engine's. `.normal` and `.precise` leave the leeway unused. May be set at any time,
    /// also inside the handler; it counts from the next deadline on that the engine waits for. `.precise` has the engine spin,
    /// and on a queue the block, within the engine's `spinBudget`. On another clock than the engine's it says nothing.
    public var precision: TimerPrecision? {
        get { core.precision }
        set { core.setPrecision(newValue) }
    }

    /// What to call when the source fires; nil for nothing, ticks are then dropped. Takes effect with the next call that is
    /// prepared: a precise engine does that some microseconds before the deadline.
    ///
    /// Freed by `cancel()`, after a running call has returned. After `cancel()` a new handler is not kept.
    ///
    /// One of an actor, as `{ @MainActor in … }`, is called on that: at once if the source's queue is the main one and the
    /// actor the main actor. On another queue or thread a task calls it later. The ticks are counted when the actor gets to it:
    /// all that came while it was busy make one call, whose `data` reports their number. A source that is cancelled or
    /// suspended before that is not called.
    public func setEventHandler(_ handler: consuming (@isolated(any) @Sendable () -> Void)?) {
        var actor: (any Actor)?
        let callback = withoutActor(consume handler, &actor)
        core.setEventHandler(callback, on: actor)
    }

    /// What to call once when the source has become active, before the first call of the event handler, where that is called.
    /// Not called if the source was cancelled first; no use any more once it is active. Freed when it has been called.
    public func setRegistrationHandler(_ handler: (@isolated(any) @Sendable () -> Void)?) {
        core.setRegistrationHandler(handler.map { onItsActor($0) })
    }

    /// What to call once after `cancel()`, when a running event handler has returned; on the same queue or thread.
    ///
    /// Not called if the source goes without `cancel()`, nor if its engine was shut down before that: `shutdown()` frees it.
    /// After `cancel()` a new handler is not kept.
    public func setCancelHandler(_ handler: (@isolated(any) @Sendable () -> Void)?) {
        core.setCancelHandler(handler.map { onItsActor($0) })
    }

    /// Starts the source. Further calls do nothing.
    public func activate() {
        core.activate()
    }

    /// Undoes one `suspend()`; where there is none, starts a source that was never activated. Surplus calls do nothing.
    public func resume() {
        core.resume()
    }

    /// Keeps the event handler from being called until `resume()` was called as often. A running call goes on.
    ///
    /// Time goes on too: after the last `resume()` one call reports in `data` how many ticks there were. A suspended
    /// source costs no wake-ups.
    public func suspend() {
        core.suspend()
    }

    /// Ends the source: no call of the event handler begins on the source's own thread or serial queue after this returned, and
    /// handlers are freed after the cancel handler ran. Idempotent; legal in any state.
    ///
    /// From another thread, and on a concurrent queue, a call may still begin that was prepared before; `cancelAndWait()` waits
    /// for it. A suspended source calls its cancel handler at once, where GCD's waits for the `resume()`.
    public func cancel() {
        core.cancel()
    }

    /// Cancels, and returns only when no handler is running, and when a cancel handler on the engine's thread has been called.
    ///
    /// In a handler of this source it does not wait, nor on the engine's thread for a cancel handler that has not begun; nor
    /// anywhere for one that belongs to a queue or a loop, or that comes after a call on an actor, which may be the very one that
    /// the caller keeps busy. On frozen time
    /// the cancel handler comes when the clock is moved.
    @available(*, noasync)
    public func cancelAndWait() {
        core.cancel()
        core.waitUntilNotRunning()
    }

    /// The same for asynchronous functions: no thread of theirs waits, so that it waits for the cancel handler on a queue too.
    public func cancelAndWait() async {
        core.cancel()
        await core.untilNotRunning()
    }

    /// Whether it counts leeway as none.
    public var isStrict: Bool { core.isStrict }

    /// Whether `cancel()` was called.
    public var isCancelled: Bool { core.isCancelled }

    /// How many nominal deadlines passed since the event handler was called last; at least 1 inside of it.
    @inlinable public var data: UInt { core.readData() }

    /// When the source fires next, as far as it is known: nil if it does not, and on another clock than its engine's. A
    /// deadline that has passed while the source is suspended or its handler runs.
    public var nextDeadline: MonotonicInstant? { core.nextDeadline_ns.map(MonotonicInstant.init(nanoseconds:)) }

    /// What the source did: fires and missed ticks since `recordStatistics()`, and what late fires were late by since somebody
    /// watches, see `onLate(beyond:_:)`.
    public var statistics: FireStatistics { core.statistics }

    /// How late each call was since `recordStatistics()`, from the nominal deadline that it was due for: a copy, empty before.
    /// O(buckets).
    public var lateness: LatencyHistogram { core.lateness }

    /// Has the source count its calls, and how late each is: a lock and an allocation more for each.
    public func recordStatistics() {
        core.keepAccount()
    }
}
#endif
