// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimerCore

/// A timer of a `TimerLoop`: Foundation's `Timer`, as exact as the kernel is.
///
///     LoopTimer.scheduled(timeInterval: .milliseconds(10), repeats: true) { timer in … }
///
/// Fires on its loop's thread, in the first pass at or after its deadline in one of its modes; never early, on
/// `CLOCK_MONOTONIC`. The first deadline is one interval after the timer was made, unless an instant is given. A repeating
/// timer keeps to the grid of its first deadline: the next deadline is the first grid point after its handler has returned, so
/// that any number of missed ticks makes one call. See `MissedTickPolicy` for the other rules.
///
/// An interval of zero or less counts as 0.1 ms if the timer repeats. An instant in the past counts as now, also for the
/// grid. `distantFuture` never fires. NaN makes a timer that is invalid from the start.
///
/// A handler may belong to the main actor, see `Block`. One that captures what is not `Sendable` is passed to `scheduledHere`.
///
/// The handler and the user information are freed by `invalidate()`, and once a timer that does not repeat has fired. All
/// members may be called from any thread, and from the handler.
public final class LoopTimer: @unchecked Sendable {
    // Sendable: `link` is touched with `lock` held. So is `state`; while the timer is in a loop, the loop's lock is held as
    // well. The loop's thread, which finds the timer through the loop, needs only the loop's lock. Two threads that touch the
    // state therefore have at least one lock in common, which makes access exclusive.

    /// The function that a timer calls.
    package typealias Handler = @Sendable (LoopTimer) -> Void
    /// A function, or one of an actor: `{ @MainActor timer in … }`, or a method of a `@MainActor` type.
    ///
    /// The latter is called on its actor: at once if the loop's thread is the actor's, as in `TimerLoop.main` for the main
    /// actor. In another loop a task calls it, later; ticks that come while it waits for the actor count as one. A closure in
    /// a global actor's code belongs to it; a constant of the type `@Sendable (LoopTimer) -> Void` does not, and the loop's
    /// thread calls it in any loop.
    public typealias Block = @isolated(any) @Sendable (LoopTimer) -> Void

    // Safe: guarded by the loop's lock, and in no loop by the timer's own, which always guards `link`. Accesses are exclusive by that.
    @safe @exclusivity(unchecked) var state: State
    /// The loop that the timer is in.
    @safe @exclusivity(unchecked) var link = Link()
    let lock = LockInPlace()

    /// The clock that the timer follows, if not the loop's. May be read without the lock: it is constant.
    var followed: FollowedClock? { state.followed }

    /// Inlined, as is everything it uses, so that references are moved into place and not counted on the way.
    init(
        deadline_ns: Int64,
        roundedUp_as: UInt32 = 0,
        origin: Origin,
        repetition: Recurrence,
        tolerance_ns: Int64 = 0,
        userInfo: (any Sendable)?,
        handler: __owned OwnerFunction?,
        date: FireDate? = nil,
        followed: FollowedClock? = nil
    ) {
        state = State(
            handler: handler,
            extras: userInfo.map { Extras(userInfo: $0) },
            schedule: TimerSchedule(repetition, GridPosition(deadline_ns: deadline_ns, roundedUp_as: roundedUp_as)),
            origin: origin,
            tolerance_ns: tolerance_ns,
            date: date,
            followed: followed
        )
    }

    /// A timer that fires one interval from now, and if it repeats, at every interval after that.
    ///
    /// Not in a loop yet.
    ///
    /// Now is what the kernel's clock reads, unless there is a virtual `time`. A loop on another time counts the first interval
    /// again, from when the timer is added. See the property `tolerance` for that parameter, and the type for intervals of
    /// zero, less and NaN. Infinity, and anything beyond 292 years, never fires. A random `phase` moves the first deadline of a
    /// repeating timer, and with it its grid, when the timer is added; see `TimerPhase` and `jitter`.
    public convenience init(
        timeInterval: some TimeSpan,
        repeats: Bool,
        policy: MissedTickPolicy = .mergeToGrid,
        tolerance: some TimeSpan = Duration.zero,
        phase: TimerPhase = .given,
        userInfo: (any Sendable)? = nil,
        time: TimeBase = .current,
        @_inheritActorContext block: @escaping Block
    ) {
        guard let interval = timeInterval.asDuration else {
            self.init(invalidWithPolicy: policy)
            return
        }
        let repetition = Recurrence(every: repeats ? interval : nil, policy: policy)
        var first = ExactInstant(repeats ? 0 : max(0, interval.nanosecondsRoundedUp))
        if repeats { first.advance(by: repetition.interval) }
        self.init(
            deadline_ns: time.now_ns.addingSaturating(first.rounded_ns),
            roundedUp_as: first.roundedUp_as,
            origin: .interval(ns: first.rounded_ns, clock: time.id),
            repetition: repetition,
            tolerance_ns: repetition.tolerance_ns(requested: tolerance.nanosecondsOrZero),
            userInfo: userInfo,
            handler: Self.handler(block)
        )
        state.set(phase, random: time.randomNumber())
    }

    /// A timer that fires at a point in time, say a `Date`, and if it repeats, at every interval after that.
    ///
    /// Not in a loop yet.
    ///
    /// A point that has passed when it is given counts as the moment when the timer is added to a loop. A point that passes
    /// between the two keeps its grid, and the first call comes at once. A `Date` is converted now, see `fireDate`. NaN in the
    /// point or in the interval makes an invalid timer.
    public convenience init(
        fireAt point: some TimePoint,
        interval: some TimeSpan = Duration.zero,
        repeats: Bool = false,
        policy: MissedTickPolicy = .mergeToGrid,
        tolerance: some TimeSpan = Duration.zero,
        phase: TimerPhase = .given,
        userInfo: (any Sendable)? = nil,
        @_inheritActorContext block: @escaping Block
    ) {
        guard let instant = point.instant(on: .current), let interval = interval.asDuration else {
            self.init(invalidWithPolicy: policy)
            return
        }
        let repetition = Recurrence(every: repeats ? interval : nil, policy: policy)
        let origin = point.origin(instant)
        self.init(
            deadline_ns: instant.nanoseconds,
            origin: origin.kind,
            repetition: repetition,
            tolerance_ns: repetition.tolerance_ns(requested: tolerance.nanosecondsOrZero),
            userInfo: userInfo,
            handler: Self.handler(block),
            date: origin.date
        )
        state.set(phase, random: TimeBase.current.randomNumber())
    }

    /// Makes a timer in the calling thread's loop, in the default mode unless `mode` is given.
    ///
    /// It fires when the loop runs there.
    @available(
        *,
        noasync,
        message: "add a LoopTimer to TimerLoop.main, which runs by itself under an async main, or to a thread's loop"
    )
    @discardableResult
    public static func scheduled(
        timeInterval: some TimeSpan,
        repeats: Bool,
        policy: MissedTickPolicy = .mergeToGrid,
        tolerance: some TimeSpan = Duration.zero,
        phase: TimerPhase = .given,
        userInfo: (any Sendable)? = nil,
        forMode mode: TimerLoop.Mode = .default,
        @_inheritActorContext block: @escaping Block
    ) -> LoopTimer {
        let timer = LoopTimer(
            timeInterval: timeInterval,
            repeats: repeats,
            policy: policy,
            tolerance: tolerance,
            phase: phase,
            userInfo: userInfo,
            block: block
        )
        TimerLoop.current.add(timer, forMode: mode)
        return timer
    }

    /// Makes a timer for one call at a time.
    ///
    /// It stays valid after the call and can be armed again by `fireInstant`, in its handler too. Not in a loop yet.
    ///
    /// It fires at `point`; by default it is not armed. It is a repeating timer whose interval never passes, and all that is
    /// said of those holds. It keeps its loop running until it is invalidated, armed or not; see `keepsLoopRunning`.
    public static func rearmable(
        fireAt point: some TimePoint = MonotonicInstant.distantFuture,
        tolerance: some TimeSpan = Duration.zero,
        userInfo: (any Sendable)? = nil,
        @_inheritActorContext block: @escaping Block
    ) -> LoopTimer {
        LoopTimer(
            fireAt: point,
            interval: .nanoseconds(Int64.max),
            repeats: true,
            tolerance: tolerance,
            userInfo: userInfo,
            block: block
        )
    }

    /// Makes a timer for one call at a time, as the other `rearmable` does, whose first call is at an instant of the wall clock
    /// or of boot time, which it follows; see `init(fireAt:interval:repeats:policy:phase:userInfo:block:)`.
    ///
    /// An instant set by `fireInstant` is one of the monotonic clock.
    @_disfavoredOverload
    public static func rearmable<Instant: TimerInstant>(
        fireAt instant: Instant,
        userInfo: (any Sendable)? = nil,
        @_inheritActorContext block: @escaping Block
    ) -> LoopTimer {
        LoopTimer(
            fireAt: instant,
            interval: .nanoseconds(Int64.max),
            repeats: true,
            userInfo: userInfo,
            block: block
        )
    }

    convenience init(invalidWithPolicy policy: MissedTickPolicy) {
        let never = Recurrence(every: nil, policy: policy)
        self.init(deadline_ns: .max, origin: .resolved, repetition: never, userInfo: nil, handler: nil)
    }
}
#endif
