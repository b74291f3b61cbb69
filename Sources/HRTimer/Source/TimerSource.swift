// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import Dispatch
public import HRTimerCore

/// A timer with the verbs of GCD's `DispatchSourceTimer`, on a `TimerEngine`, without its crashes.
///
///     let source = TimerSource()
///     source.schedule(deadline: .now.advanced(by: .milliseconds(1)), repeating: .milliseconds(1))
///     source.setEventHandler { print(source.data) }
///     source.activate()
///
/// The event handler is never called early, never while it is still running, and once for any number of missed ticks: `data` is
/// their number. Without a queue it runs on the engine's own thread, where no thread hop delays it, and where it must be short.
/// With a `DispatchQueue` it runs on that queue.
///
/// Every order of calls is safe, from any thread and from the handlers. What GCD answers with a crash has a meaning here: a
/// surplus `resume()` does nothing, and the last reference may be dropped in any state. The source then stops quietly, and its
/// cancel handler is not called, unless `cancel()` was called before. The reference keeps the source alive: a handler that
/// captures it keeps it alive for ever, unless `cancel()` frees the handlers.
///
/// Deadlines are on `CLOCK_MONOTONIC`, which stands still while the system is suspended.
public final class TimerSource: Sendable {
    @usableFromInline package let core: SourceCore

    /// A source that is not active yet and runs its handlers on the loop's thread, in a pass in one of `modes`: later than on
    /// the engine's thread by a wake-up of the loop.
    ///
    /// Calls that the loop has not run when it ends are not made.
    public convenience init(
        engine: TimerEngine = .shared,
        loop: TimerLoop,
        modes: [TimerLoop.Mode] = [.common],
        isStrict: Bool = false
    ) {
        self.init(engine: engine, target: .init { loop.perform(inModes: modes, order: 0, $0) }, isStrict: isStrict)
    }

    @inline(__always)
    package init(engine: TimerEngine, target: SourceCore.Target?, isStrict: Bool = false) {
        core = SourceCore(engine: engine, target: target, isStrict: isStrict)
    }

    deinit {
        // Safe, though not retained for the call: the core exists until this returns.
        unsafe Unmanaged.passUnretained(core)._withUnsafeGuaranteedRef { $0.abandon() }
    }

    /// Sets deadline, interval and leeway, in place of the former ones.
    ///
    /// Ticks that were not reported yet are dropped.
    ///
    /// - Parameters:
    ///   - deadline: when to fire first. A past deadline fires at once, and a repeating source counts every interval since then;
    ///     `distantPast` means now, `distantFuture` means not until scheduled again.
    ///   - interval: between nominal deadlines; nil fires once, zero or less counts as 0.1 ms.
    ///   - leeway: how much later than the deadline the source may fire to share a wake-up; negative counts as 0, and more
    ///     than half the interval as half. `.shared` and all engines in `.coalesced` precision make use of it; the others, and
    ///     a strict source, fire at the deadline with any leeway.
    ///
    /// A call from the event handler replaces the next deadline. A source that has fired once may be scheduled again. After
    /// `cancel()` this does nothing. No allocation; O(1).
    ///
    /// To move a one-shot deadline without leeway to a later instant, as keep-alives put off a timeout, takes no lock: one
    /// atomic exchange. The engine then wakes at most once for each deadline that it knew, and in the order of equal deadlines
    /// the source counts as armed at that wake-up.
    public func schedule(deadline: MonotonicInstant, repeating interval: Duration? = nil, leeway: Duration = .zero) {
        if interval == nil, leeway.attoseconds == 0, core.moveLater(to: deadline.nanoseconds) { return }
        core.schedule(deadline, Recurrence(every: interval, policy: .merge), leeway)
    }

    /// The random delay of each call of a repeating source after its nominal deadline; nil, as at first, for none.
    ///
    /// The grid stays. A new jitter counts at once; a jitter without a seed gets one. See `Jitter`.
    public var jitter: Jitter? {
        get { core.jitter }
        set { core.setJitter(newValue) }
    }

    /// Schedules the source at an instant of any clock, or with a grid that begins a random part of an interval after
    /// `deadline`; see `TimerPhase`.
    ///
    /// A `WallInstant` is on the time of day: a step of that clock moves the deadline with it, and a step forward makes the
    /// deadlines that it passes fire at once. A `BootTimeInstant` goes on while the system is suspended. The engine of that clock
    /// keeps the deadline, and has this source's own engine make the call. On a queue the call is as late as ever; on the
    /// engine's thread it is later by one more wake-up.
    @_disfavoredOverload
    public func schedule<Instant: TimerInstant>(
        deadline: Instant,
        repeating interval: Duration? = nil,
        leeway: Duration = .zero,
        phase: TimerPhase = .given
    ) {
        core.schedule(deadline, Recurrence(every: interval, policy: .merge), leeway, phase)
    }

    /// Schedules the source to fire first once `delay` has passed, counted from now by the engine's clock, and then at every
    /// interval, if there is one.
    ///
    /// A delay of NaN means now.
    public func schedule(
        after delay: some TimeSpan,
        repeating interval: Duration? = nil,
        leeway: some TimeSpan = Duration.zero
    ) {
        let now = MonotonicInstant(nanoseconds: core.core.time.now_ns)
        let deadline = now.advanced(by: delay.asDuration ?? .zero)
        schedule(deadline: deadline, repeating: interval, leeway: leeway.asDuration ?? .zero)
    }

    /// Schedules the source as `schedule(after:repeating:leeway:)` does, with an interval in any spelling; NaN counts as 0.1 ms.
    @_disfavoredOverload
    public func schedule(
        after delay: some TimeSpan,
        repeating interval: some TimeSpan,
        leeway: some TimeSpan = Duration.zero
    ) {
        schedule(after: delay, repeating: interval.asDuration ?? .zero, leeway: leeway)
    }

    /// What becomes of nominal deadlines that passed before the source could fire: at first `.merge`, the rule of GCD.
    ///
    /// A new policy counts from the next call on. A source that was cancelled, or whose engine has ended, has `.merge` again.
    public var policy: MissedTickPolicy {
        get { core.policy }
        set { core.setPolicy(newValue) }
    }

    /// How exact this source is, if it is to be more exact than its engine; nil, as at first, for the engine's own precision.
    ///
    /// Less than the engine's precision counts as the engine's. `.normal` and `.precise` leave the leeway unused. It may be set
    /// at any time, also inside the handler; it counts from the next deadline on that the engine waits for. With `.precise` the
    /// engine spins, and on a queue the block, within the engine's `spinBudget`. It means nothing for deadlines on another
    /// clock than the engine's.
    public var precision: TimerPrecision? {
        get { core.precision }
        set { core.setPrecision(newValue) }
    }

    /// Sets the handler to call when the source fires; with nil nothing is called, and ticks are dropped.
    ///
    /// Takes effect with the next call that is prepared: a precise engine prepares a call some microseconds before the
    /// deadline.
    ///
    /// `cancel()` frees the handler, after a running call has returned. A handler that is set after `cancel()` is not kept.
    ///
    /// A handler that says so, `{ @MainActor in … }`, is called on its actor: at once if the source's queue is the main queue
    /// and the actor is the main actor. On another queue or thread a task calls it later. A closure that does not say so is
    /// called where the source calls, even if it stands in code of the main actor, where it would be later. The ticks are
    /// counted when the actor gets to the call: all ticks that came while the actor was busy make one call, whose `data`
    /// reports their number. A source that is cancelled or suspended before that is not called.
    ///
    /// From the next call on, handlers are submitted to the source's queue with that quality of service and those flags, for
    /// example a barrier's; without both, as before. On the engine's thread they mean nothing.
    public func setEventHandler(
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        handler: consuming (@isolated(any) @Sendable () -> Void)?
    ) {
        submit(qos, flags)
        var actor: (any Actor)?
        let callback = withoutActor(consume handler, &actor)
        core.setEventHandler(callback, on: actor)
    }

    /// Sets the handler to call once when the source becomes active, before the event handler and where that is called.
    ///
    /// A task calls a handler of an actor; the event handler does not wait for that. The handler is not called if the source
    /// was cancelled first, and has no use once the source is active. It is freed after its call.
    public func setRegistrationHandler(
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        handler: (@isolated(any) @Sendable () -> Void)?
    ) {
        submit(qos, flags)
        core.setRegistrationHandler(handler.map { onItsActor($0) })
    }

    /// Sets the handler to call once after `cancel()`, when a running event handler has returned; on the same queue or thread.
    ///
    /// It is not called if the source is dropped without `cancel()`, nor if its engine was shut down before that: `shutdown()`
    /// frees it. A handler that is set after `cancel()` is not kept.
    public func setCancelHandler(
        qos: DispatchQoS = .unspecified,
        flags: DispatchWorkItemFlags = [],
        handler: (@isolated(any) @Sendable () -> Void)?
    ) {
        submit(qos, flags)
        core.setCancelHandler(handler.map { onItsActor($0) })
    }

    /// Starts the source.
    ///
    /// Further calls do nothing.
    public func activate() {
        core.activate()
    }

    /// Undoes one `suspend()`; where there is none, starts a source that was never activated.
    ///
    /// Surplus calls do nothing.
    public func resume() {
        core.resume()
    }

    /// Keeps the event handler from being called until `resume()` was called as often as this.
    ///
    /// A running call goes on.
    ///
    /// Time goes on too: after the last `resume()` one call reports in `data` how many ticks there were. A suspended source
    /// costs no wake-ups.
    public func suspend() {
        core.suspend()
    }

    /// Ends the source: once this has returned on the source's own thread or serial queue, no call of the event handler begins.
    ///
    /// The handlers are freed after the cancel handler has run. Idempotent; legal in any state.
    ///
    /// From another thread, and on a concurrent queue, a call that was prepared before may still begin; `cancelAndWait()` waits
    /// for it. A precise call may count as begun up to 4 µs before its deadline. A suspended source calls its cancel handler at once, where GCD's waits for the `resume()`.
    public func cancel() {
        core.cancel()
    }

    /// Cancels, and returns only when no handler is running, and when a cancel handler on the engine's thread has been called.
    ///
    /// Inside a handler of this source it does not wait. On the engine's thread it does not wait for a cancel handler that has
    /// not begun. On no thread does it wait for a cancel handler that belongs to a queue or a loop, or that comes after a call
    /// on an actor: the caller may keep that very actor busy. On frozen time the cancel handler comes when the clock is moved.
    ///
    /// Handlers of two engines that wait for each other's sources in this way wait for ever.
    @available(*, noasync)
    public func cancelAndWait() {
        core.cancel()
        core.waitUntilNotRunning()
    }

    /// Cancels and waits as the synchronous `cancelAndWait()` does, but blocks no thread.
    ///
    /// So it waits for a cancel handler on a queue too.
    public func cancelAndWait() async {
        core.cancel()
        await core.untilNotRunning()
    }

    /// Whether the source counts leeway as zero.
    public var isStrict: Bool { core.isStrict }

    /// Whether `cancel()` was called.
    public var isCancelled: Bool { core.isCancelled }

    /// The number of nominal deadlines that the running call of the event handler reports, at least 1; 0 while none runs.
    @inlinable public var data: UInt { core.readData() }

    /// When the source fires next, as far as that is known; nil if it does not, or if the deadline is on another clock than its
    /// engine's.
    ///
    /// While the source is suspended or its handler runs, this may be a deadline that has passed.
    public var nextDeadline: MonotonicInstant? { core.nextDeadline_ns.map(MonotonicInstant.init(nanoseconds:)) }
}
#endif
