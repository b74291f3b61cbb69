// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
/// A thread that fires timers and runs blocks: an engine's, or a loop's of the module HRTimer.
package protocol TimerHost: AnyObject, Sendable {
    var time: TimeBase { get }
    /// Whether the host has ended: it fires no timer any more.
    var hasEnded: Bool { get }
    /// Whether the calling thread is the one that runs the host's handlers.
    var isOnItsThread: Bool { get }
    /// The observer of a watched host.
    var latenessObserver: LatenessObserver? { get }

    /// Watches the host: from now on its thread notes what it does.
    func watch() -> LatenessObserver

    /// Calls `handler` at the deadline or, for an owned timer, at each one that it is moved to. A host that has ended drops the
    /// handler at once. A loop goes by the deadline and the tolerance alone, and runs on for the timer while that is armed.
    func arm(_ request: TimerRequest, _ handler: @escaping @Sendable () -> Void) -> HostTimer

    /// Arms a timer that calls `alarm`: once or, if the request says that it is owned, whenever `move` has armed it. The host may
    /// call `coreHasEnded` and `deadlineHasCome` before this returns.
    func arm(_ alarm: any HostAlarm, _ request: TimerRequest) -> HostTimer

    /// Moves an owned timer to another deadline; `Int64.max` for none. Calls nothing: may be called with a lock held.
    func move(_ timer: HostTimer, to deadline_ns: Int64)

    /// Drops the handler, which is not called any more unless the call has begun.
    func disarm(_ timer: HostTimer)

    /// Calls `block` once, after the timers that are due and after earlier blocks. A host that has ended drops it at once.
    func submit(_ block: @escaping @Sendable () -> Void)
}

/// An armed timer of a host, by which it can be disarmed: what a host of its kind makes of it.
package enum HostTimer: Sendable {
    case token(TimerToken)
    case object(any AnyObject & Sendable)
}

/// The owner of a timer of a host that needs no more than to be called: at the deadline, or when the host has ended and the deadline
/// never comes.
package protocol HostAlarm: TimerOwner {
    /// Called at the deadline. On the host's thread, with no lock held.
    func deadlineHasCome()
}

extension HostAlarm {
    package func prepare(_ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) -> Bool {
        fire.callback = Callback { [self] in deadlineHasCome() }
        return true
    }

    package func finish(wasCalled: Bool, _ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) {}
}

extension TimerHost {
    /// Tells the host's virtual time, if it has one, that the calling task is about to sleep. For messages.
    func noteSleep(until deadline_ns: Int64) { time.noteSleep(until: deadline_ns, on: self) }

    /// Tells the host's virtual time, if it has one, that the calling task has slept.
    func noteEndOfSleep() { time.noteEndOfSleep() }

    /// Calls `handler` once at the deadline.
    package func arm(
        _ deadline_ns: Int64,
        tolerance_ns: Int64,
        _ handler: @escaping @Sendable () -> Void
    ) -> HostTimer {
        var request = TimerRequest()
        request.deadline_ns = deadline_ns
        request.tolerance_ns = tolerance_ns
        return arm(request, handler)
    }
}

extension EngineCore: TimerHost {
    package var latenessObserver: LatenessObserver? { observer.reports }

    package func arm(_ request: TimerRequest, _ handler: @escaping @Sendable () -> Void) -> HostTimer {
        .token(schedule(.handler { _ in handler() }, request))
    }

    /// The timer holds the alarm itself, so that arming allocates nothing.
    package func arm(_ alarm: any HostAlarm, _ request: TimerRequest) -> HostTimer {
        let token = schedule(.owner(alarm), request)
        if token == .stale { alarm.coreHasEnded() }
        return .token(token)
    }

    package func move(_ timer: HostTimer, to deadline_ns: Int64) {
        if case .token(let token) = timer { _ = arm(token, deadline_ns: deadline_ns) }
    }

    package func disarm(_ timer: HostTimer) {
        if case .token(let token) = timer { _ = cancel(token) }
    }

    package func submit(_ block: @escaping @Sendable () -> Void) { _ = runSoon(block) }
}
#endif
