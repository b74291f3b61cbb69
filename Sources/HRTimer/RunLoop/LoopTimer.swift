public import HRTimerCore

/// A timer of a `TimerLoop`: Foundation's `Timer`, as exact as the kernel is.
///
///     LoopTimer.scheduled(timeInterval: .milliseconds(10), repeats: true) { timer in … }
///
/// Fires on its loop's thread, in the first pass at or after its deadline in one of its modes; never early, on
/// `CLOCK_MONOTONIC`. The first deadline is one interval after the timer was made, unless an instant is given. A repeating
/// timer keeps to the grid of its first deadline: the next one is the first grid point after its handler returned, so that
/// any number of missed ticks makes one call; see `MissedTickPolicy` for the other rules.
///
/// An interval of zero or less counts as 0.1 ms if the timer repeats. An instant in the past counts as now, also for the
/// grid. `distantFuture` never fires. NaN makes a timer that is invalid from the start.
///
/// A handler may belong to the main actor, see `Block`; one that holds what is not `Sendable` goes to `scheduledHere`.
///
/// The handler and the user information are freed by `invalidate()`, and once a timer that does not repeat has fired. All
/// members may be called from any thread, and from the handler.
public final class LoopTimer: @unchecked Sendable {
    // Sendable: `state` is touched with the lock of `link` held, and while the timer is in a loop with the loop's lock as well.
    // The loop's thread, which finds the timer through the loop, needs the loop's lock alone: two threads that touch the state
    // have at least one lock in common. Exclusive access follows from that.

    /// What a timer calls.
    public typealias Handler = @Sendable (LoopTimer) -> Void
    /// The same, or a function of an actor: `{ @MainActor timer in … }`, or a method of a `@MainActor` type.
    ///
    /// Called on its actor: at once where the loop's thread is the actor's, as in `TimerLoop.main` for the main actor. In another
    /// loop a task calls it, later; ticks that come while it waits for the actor count as one.
    public typealias Block = @isolated(any) @Sendable (LoopTimer) -> Void

    @exclusivity(unchecked) var state: State
    /// The loop that the timer is in.
    let link = Locked(Link())

    init(deadline_ns: Int64, origin: Origin, repetition: Repetition, userInfo: (any Sendable)?, handler: Handler?) {
        state = State(
            handler: handler,
            userInfo: userInfo.map { UserInfo($0) },
            deadline_ns: deadline_ns,
            origin: origin,
            repetition: repetition
        )
    }

    /// A timer that fires one interval from now, and if it repeats at every interval after that. Not in a loop yet.
    ///
    /// Now is what the kernel's clock reads, unless there is a virtual `time`. A loop on another time than that counts the first
    /// interval anew, from when the timer is added.
    public convenience init(
        timeInterval: Duration,
        repeats: Bool,
        policy: MissedTickPolicy = .mergeToGrid,
        userInfo: (any Sendable)? = nil,
        time: TimeBase = .current,
        block: @escaping Block
    ) {
        let repetition = Repetition(every: repeats ? timeInterval : nil, policy: policy)
        let first_ns = repeats ? repetition.interval_ns : timeInterval.nanosecondsRoundedUp
        self.init(
            deadline_ns: time.now_ns.addingSaturating(max(0, first_ns)),
            origin: .interval(ns: max(0, first_ns), clock: time.virtual.map { ObjectIdentifier($0) }),
            repetition: repetition,
            userInfo: userInfo,
            handler: Self.handler(block)
        )
    }

    /// A timer that fires at `instant`, and if it repeats at every interval after that. Not in a loop yet.
    public convenience init(
        fireAt instant: MonotonicInstant,
        interval: Duration,
        repeats: Bool,
        policy: MissedTickPolicy = .mergeToGrid,
        userInfo: (any Sendable)? = nil,
        block: @escaping Block
    ) {
        self.init(
            deadline_ns: instant.nanoseconds,
            origin: .instant(isPast: instant < .now),
            repetition: Repetition(every: repeats ? interval : nil, policy: policy),
            userInfo: userInfo,
            handler: Self.handler(block)
        )
    }

    /// A timer in the default mode of the calling thread's loop.
    @available(*, noasync)
    @discardableResult
    public static func scheduled(
        timeInterval: Duration,
        repeats: Bool,
        policy: MissedTickPolicy = .mergeToGrid,
        userInfo: (any Sendable)? = nil,
        block: @escaping Block
    ) -> LoopTimer {
        schedule(.init(timeInterval: timeInterval, repeats: repeats, policy: policy, userInfo: userInfo, block: block))
    }

    @available(*, noasync)
    static func schedule(_ timer: LoopTimer) -> LoopTimer {
        TimerLoop.current.add(timer, forMode: .default)
        return timer
    }
}
