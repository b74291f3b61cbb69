// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
public import HRTimer

/// A clock for tests that stands still until the test moves it.
///
/// It then fires everything due on the way, in order, without sleeping.
///
///     let time = ManualTime()
///     let engine = try TimerEngine(.init(time: time.base))
///     engine.schedule(after: .seconds(3600)) { _ in … }
///     time.advance(by: .seconds(3600))   // the handler has run
///
/// Engines on this time have no thread: handlers run on the thread that moves the clock, and have returned when `advance`
/// returns. One thread moves the clock at a time; a second one waits. A handler that moves the clock is a slow handler: timers
/// of its own engine wait until it returns. Inside a handler `.now` reads this time, `TimeBase.current` is this time, and
/// `.shared` engines are on it. A `TimerLoop` on this time moves the clock itself, to its next deadline, whenever it would
/// sleep.
public final class ManualTime: Sendable {
    private let state: Locked<State>
    /// The scheduler that moves the clock in `withManualTime`; nil if the clock is moved by hand.
    let scheduler: DeterministicScheduler?
    private let moving = RecursiveLock()

    private struct State {
        var now_ns: Int64
        /// How far the other clocks are ahead of the monotonic clock.
        var bootTimeOffset_ns: Int64 = 0
        var wallOffset_ns: Int64
        var participants: [WeakParticipant] = []
        /// This time's own instances of the process's singletons, such as shared engines. Once made, they keep the time alive.
        var owned: [ObjectIdentifier: any AnyObject & Sendable] = [:]
    }

    private struct WeakParticipant: Sendable {
        weak let object: (any VirtualTimeParticipant)?
    }

    /// A clock that reads `start`, by default ten seconds after zero, so that a test may use earlier instants.
    ///
    /// The boot-time clock begins with the same reading, the wall clock with `wallStart`, by default in the year 2001.
    public init(
        start: MonotonicInstant = MonotonicInstant(nanoseconds: 10_000_000_000),
        wallStart: WallInstant = WallInstant(nanoseconds: 1_000_000_000_000_000_000)
    ) {
        scheduler = nil
        let wallOffset_ns = wallStart.nanoseconds.subtractingSaturating(start.nanoseconds)
        state = Locked(State(now_ns: start.nanoseconds, wallOffset_ns: wallOffset_ns))
    }

    init(start: MonotonicInstant, wallStart: WallInstant, scheduler: DeterministicScheduler) {
        self.scheduler = scheduler
        let wallOffset_ns = wallStart.nanoseconds.subtractingSaturating(start.nanoseconds)
        state = Locked(State(now_ns: start.nanoseconds, wallOffset_ns: wallOffset_ns))
    }

    /// The clock's reading.
    public var now: MonotonicInstant { MonotonicInstant(nanoseconds: now_ns) }

    /// The reading of the boot-time clock.
    public var bootTimeNow: BootTimeInstant { BootTimeInstant(nanoseconds: base.on(.bootTime).now_ns) }

    /// The reading of the wall clock.
    public var wallNow: WallInstant { WallInstant(nanoseconds: base.on(.wall).now_ns) }

    /// Sets the wall clock, forward or back, as `settimeofday(2)` does, and no other clock.
    ///
    /// Then fires everything that a step forward passes, all of it at the new reading.
    public func setWall(to instant: WallInstant) {
        moving.withLock {
            stepWall(to: instant)
            runDue()
        }
    }

    func stepWall(to instant: WallInstant) {
        state.withLock { $0.wallOffset_ns = instant.nanoseconds.subtractingSaturating($0.now_ns) }
        reportMove()
    }

    /// Acts as if the system were suspended for that long: the boot-time and the wall clock go on, the monotonic clock stands
    /// still.
    ///
    /// Then fires what fell due meanwhile. A negative duration does nothing.
    public func suspendSystem(for duration: Duration) {
        moving.withLock {
            stepOthers(by: duration)
            runDue()
        }
    }

    func stepOthers(by duration: Duration) {
        let length_ns = max(0, duration.nanosecondsRoundedUp)
        state.withLock { state in
            state.bootTimeOffset_ns = state.bootTimeOffset_ns.addingSaturating(length_ns)
            state.wallOffset_ns = state.wallOffset_ns.addingSaturating(length_ns)
        }
        reportMove()
    }

    private func runDue() {
        _ = move(to: now_ns, isStopped: { false })
    }

    /// The time for the configuration of an engine or a loop.
    public var base: TimeBase { TimeBase(virtual: self) }

    var participants: [any VirtualTimeParticipant] {
        state.withLock { state in
            state.participants.removeAll { $0.object == nil }
            return state.participants.compactMap(\.object)
        }
    }

    /// The earliest deadline of all engines on this time; nil if there is none.
    public var nextDeadline: MonotonicInstant? {
        let earliest_ns = earliestDeadline_ns
        return earliest_ns < .max ? MonotonicInstant(nanoseconds: earliest_ns) : nil
    }

    /// Moves the clock by `duration`, firing what falls due; a negative duration moves nothing.
    ///
    /// The durations of two threads add up.
    public func advance(by duration: Duration) {
        moving.withLock { advance(to: now.advanced(by: duration)) }
    }

    /// Moves the clock to `instant`, firing what falls due, each at its own deadline, including timers that handlers add on the
    /// way.
    ///
    /// An instant in the past only fires what is already due.
    ///
    /// If handlers move the clock further, everything due by the instant that they have reached at the end still fires, and
    /// nothing more: this returns even if a handler always takes longer than its interval.
    public func advance(to instant: MonotonicInstant) {
        moving.withLock {
            _ = move(to: instant.nanoseconds, isStopped: { false })
        }
    }

    /// Fires until nothing is pending, or until `limit` deadlines have come.
    ///
    /// Returns how many came. For one-shot work; a repeating timer never ends by itself.
    @discardableResult
    public func run(limit: Int = 100_000) -> Int {
        moving.withLock {
            var deadlines = 0
            while deadlines < limit, let next = earliestWake(), next.instant_ns < .max {
                set(next.instant_ns)
                if run(next.participant) { deadlines += 1 }
            }
            return deadlines
        }
    }

    /// Moves the clock to `target_ns`, firing what falls due. Returns false if `isStopped` ended that early.
    private func move(to target_ns: Int64, isStopped: () -> Bool) -> Bool {
        guard fire(upTo: target_ns, isStopped) else { return false }
        set(target_ns)
        // Handlers may have moved the clock beyond the target.
        let now_ns = now_ns
        return now_ns <= target_ns || fire(upTo: now_ns, isStopped)
    }

    private func fire(upTo target_ns: Int64, _ isStopped: () -> Bool) -> Bool {
        while let next = earliestWake(), next.instant_ns <= target_ns, next.instant_ns < .max {
            if isStopped() { return false }
            set(next.instant_ns)
            _ = run(next.participant)
        }
        return !isStopped()
    }

    /// Runs what is due, on the calling thread, which is in this time meanwhile. Returns false if nothing has come.
    func run(_ participant: any VirtualTimeParticipant) -> Bool {
        CurrentTime.with(self) { participant.runDue() }
    }

    /// Sets the clock. Time never goes back: an instant that has passed leaves the clock as it is.
    func set(_ now_ns: Int64) {
        let hasMoved = state.withLock { state in
            if now_ns <= state.now_ns { return false }
            state.now_ns = now_ns
            return true
        }
        if hasMoved { reportMove() }
    }

    /// Reports a move of the clock. Must be called without the lock, so that the participants' locks are not taken under it.
    private func reportMove() {
        for participant in participants { participant.clockHasMoved() }
    }

    /// The earliest deadline of all participants; `Int64.max` if there is none.
    var earliestDeadline_ns: Int64 { participants.map(\.nextDeadline_ns).min() ?? .max }

    /// Returns the participant that wakes next, and when: among equal instants the engine that was made first.
    func earliestWake() -> (participant: any VirtualTimeParticipant, instant_ns: Int64)? {
        var earliest: (any VirtualTimeParticipant, Int64)?
        for participant in participants {
            let instant_ns = participant.nextWake_ns
            if instant_ns < earliest?.1 ?? .max { earliest = (participant, instant_ns) }
        }
        return earliest
    }
}

extension ManualTime: VirtualTime {
    /// The clock's reading in nanoseconds.
    package var now_ns: Int64 { state.withLock { $0.now_ns } }

    package func offset_ns(of clock: TimerClock) -> Int64 {
        switch clock {
        case .monotonic: 0
        case .bootTime: state.withLock { $0.bootTimeOffset_ns }
        case .wall: state.withLock { $0.wallOffset_ns }
        }
    }

    package func attach(_ participant: any VirtualTimeParticipant) {
        state.withLock { $0.participants.append(WeakParticipant(object: participant)) }
    }

    package func wait(until instant_ns: Int64, for deadline_ns: Int64, _ waiter: any VirtualWaiter) -> VirtualWait {
        if let scheduler { return scheduler.wait(self, until: instant_ns, for: deadline_ns, waiter) }
        return wait(until: instant_ns) { waiter.isWoken } ? .moved : .nothing
    }

    /// Moves the clock on the calling thread, and runs what falls due on the way. Returns false if there is no deadline left.
    private func wait(until deadline_ns: Int64, isWoken: () -> Bool) -> Bool {
        moving.withLock {
            if deadline_ns < .max {
                _ = move(to: deadline_ns, isStopped: isWoken)
                return true
            }
            // The caller has no deadline to move to, but timers of others may wake it.
            while !isWoken() {
                guard let next = earliestWake(), next.instant_ns < .max else { return false }
                _ = move(to: next.instant_ns, isStopped: isWoken)
            }
            return true
        }
    }
}

// The members that depend on the scheduler.
extension ManualTime {
    package var passesBaton: Bool { scheduler != nil }
    package var ownsThread: Bool { scheduler?.isOnItsThread ?? false }

    package func expectBaton(_ name: @autoclosure () -> String) -> (any VirtualBaton)? {
        scheduler.map { BatonTicket($0.addBaton(name(), self)) }
    }

    package func hold(_ name: @autoclosure () -> String) -> (any VirtualHold)? {
        scheduler?.hold(name())
    }

    package var seed: UInt64 { scheduler?.seed ?? 0 }

    package func own(_ key: ObjectIdentifier, _ make: () -> any AnyObject & Sendable) -> (any AnyObject & Sendable)? {
        if let scheduler { return scheduler.own(key, make) }
        if let owned = state.withLock({ $0.owned[key] }) { return owned }
        let made = make()
        return state.withLock { state in
            let owned = state.owned[key] ?? made
            state.owned[key] = owned
            return owned
        }
    }

    package func noteSleep(until deadline_ns: Int64, on participant: ObjectIdentifier) {
        scheduler?.noteSleep(until: deadline_ns, on: participant)
    }

    package func noteEndOfSleep() { scheduler?.noteEndOfSleep() }

    package func enter<Result, Failure: Error>(
        _ name: @autoclosure () -> String,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // A thread that is in this time has the baton already.
        guard let scheduler, CurrentTime.ofThread !== self else { return try CurrentTime.with(self, body) }
        let baton = scheduler.addBaton(name(), self)
        return try baton.running(body)
    }
}
#endif
