// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import CHRTimer
public import HRTimerCore

extension LoopTimer {
    /// Whether the timer is valid: until `invalidate()`, or until the handler of a timer that does not repeat has returned.
    public var isValid: Bool { !isInForkedChild && withState { $0.handler != nil } }

    /// The interval in seconds, as in Foundation; 0 for a timer that does not repeat.
    public var timeInterval: Double { interval / .seconds(1) }

    /// The interval; zero for a timer that does not repeat.
    public var interval: Duration { withState { $0.schedule.recurrence.interval.duration } }

    /// The policy for ticks that were missed.
    public var policy: MissedTickPolicy { withState { $0.schedule.recurrence.policy } }

    /// The number of nominal deadlines without a call of their own, as of the present or latest call: those that passed during
    /// the handler before, and if this call was late, those after its own deadline.
    ///
    /// For a handler on an actor they include the ticks of calls that came while this call waited for the actor, and that
    /// counted as one with it.
    public var missedTicks: Int { withState { $0.reportedMisses } }

    /// The user information that the timer was made with; nil once it is invalid.
    public var userInfo: (any Sendable)? { isInForkedChild ? nil : withState { $0.extras }?.userInfo }

    /// The next deadline.
    ///
    /// Inside the handler, the one that it was called for. For an invalid timer, the last one it fired for.
    ///
    /// Setting it moves the next call, and with it the grid of a repeating timer: ticks that were missed before no longer
    /// count. A past instant counts as now. Inside the handler it replaces the deadline that would come next. `distantFuture`
    /// pauses the timer. A timer that does not repeat still becomes invalid after its running handler. On an invalid timer this
    /// does nothing.
    public var fireInstant: MonotonicInstant {
        get { MonotonicInstant(nanoseconds: withState { state, time in state.shownDeadline_ns(time) }) }
        set {
            // Not asked for a timer in a loop, which goes by its loop's clock; mostly asked without a lock.
            let passed = isInLoop ? nil : PassedOn { _ in newValue.nanoseconds }
            update { state, time in
                if let time {
                    _ = state.move(to: max(newValue.nanoseconds, time.now_ns), origin: .resolved)
                } else {
                    let passed = passed ?? PassedOn { _ in newValue.nanoseconds }
                    _ = state.move(to: newValue.nanoseconds, origin: .instant(passed))
                }
            }
        }
    }

    /// How much later than its deadline a call may come, in seconds, so that it can share a wake-up with others.
    ///
    /// A call never comes earlier, and the grid does not move. Zero at first, as are negative values and NaN; at most half the
    /// interval if the timer repeats. A tenth of the interval is a good rule where the exact moment does not matter. See
    /// `precision` for when the tolerance is used.
    public var tolerance: Double {
        get { Double(withState { $0.tolerance_ns }) / 1e9 }
        set { setTolerance(newValue) }
    }

    /// Sets `tolerance` in any spelling of a time span: `timer.setTolerance(.milliseconds(10))`.
    package func setTolerance(_ tolerance: some TimeSpan) {
        let requested_ns = tolerance.nanosecondsOrZero
        update { state, _ in
            state.tolerance_ns = state.schedule.recurrence.tolerance_ns(requested: requested_ns)
        }
    }

    /// Ends the timer: takes it out of its loop, and frees the handler and the user information.
    ///
    /// Idempotent.
    ///
    /// On the loop's own thread no call comes after this has returned. On another thread a call that has begun goes on;
    /// `invalidateAndWait()` waits for it. A precise call may count as begun up to 4 µs before its deadline. A timer that is due
    /// in the same pass but invalidated by an earlier handler does not fire. A call that waits for an actor, see `Block`, does not
    /// come if the actor invalidates the timer.
    ///
    /// Items in a loop are invalidated: timers, sources, triggers, observers, links. As with Foundation's timers
    /// this does not wait, and cannot be undone. Other items are cancelled. Owners of a thread are shut down, which waits.
    public func invalidate() {
        end(isRevoked: true)
    }

    /// Ends the timer. With `isRevoked` false, calls that have begun still come to their actor.
    func end(isRevoked: Bool) {
        var target: TimerTarget?
        var released = Released()
        lock.acquire()
        if link.core?.isInForkedChild ?? false {
            lock.release()
        } else if let core = link.core.take() {
            // Without closures, so that references are moved and not counted on the way.
            // Safe: not used after `unlock()`.
            @safe let loop = unsafe core.state.lock()
            let isWithdrawn = loop.pointee.withdraw(link.token, &state)
            if isRevoked { state.isRevoked = true }
            let formerThread = state.extras?.threadOfFormerLoop
            state.takeReferences(&released)
            unsafe state.noteEnding(formerThread ?? loop.pointee.core.callingThread)
            loop.pointee.removeTimer(link.token, &target)
            let mustWake = isWithdrawn || loop.pointee.mustWakeToEnd()
            core.state.unlock()
            link.token = .stale
            lock.release()
            if mustWake { core.waiter.wake() }
            if UsageWarning.isLookedFor { core.endRunWatchIfEmpty() }
        } else {
            if isRevoked { state.isRevoked = true }
            let formerThread = state.extras?.threadOfFormerLoop
            state.takeReferences(&released)
            state.noteEnding(formerThread)
            lock.release()
        }
        followed?.cancel()
        withExtendedLifetime(released) {}
        withExtendedLifetime(target) {}
    }
}

extension LoopTimer {
    /// The precision of this timer, if that is higher than the precision of its loop; nil, the default, for the loop's own.
    ///
    /// A lower one than the loop's counts as the loop's. `.normal` and `.precise` do not use the tolerance. May be set at any
    /// time, also inside the handler. It counts from the next deadline for which the loop waits. `.precise` makes the loop
    /// spin, see `TimerLoop.precision`.
    public var precision: TimerPrecision? {
        get { withState { $0.precision } }
        set {
            guard withState({ $0.precision != newValue }) else { return }
            update { state, _ in state.precision = newValue }
        }
    }
}

// Waiting until a call has returned.
extension LoopTimer {
    /// Invalidates the timer, and returns only when its handler is not running: what the handler uses may then be freed.
    ///
    /// On the loop's own thread, as in the handler itself, it does not wait; nor on the thread of the call if the timer was taken
    /// out of its loop during it. It waits neither for a `fire()` on another thread nor for a call by a task on the
    /// handler's actor: the latter is over, or does not come if the actor invalidates the timer. Idempotent; all callers wait.
    /// Handlers of two loops that wait for each other's timers in this way wait for ever.
    @available(*, noasync)
    public func invalidateAndWait() {
        invalidate()
        // Safe: only compared.
        guard let ending, unsafe ending.thread != hrt_thread_pointer() else { return }
        ending.latch.wait()
    }

    /// Invalidates the timer and waits as the other `invalidateAndWait()` does, from an asynchronous function: no thread waits.
    public func invalidateAndWait() async {
        invalidate()
        await ending?.latch.opened()
    }

    private var ending: Ending? { withState { $0.extras?.ending } }

    /// The end of a call during which the timer was invalidated.
    @safe struct Ending: Sendable {
        /// The thread that is inside the handler. Sendable and safe: only compared.
        @safe nonisolated(unsafe) let thread: UnsafeRawPointer?
        let latch = Latch()
    }
}
#endif
