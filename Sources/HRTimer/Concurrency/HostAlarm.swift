import HRTimerCore

/// What one timer of a host calls once: at its deadline, or because the host has ended and the deadline never comes.
///
/// On an engine the timer holds this object itself, so that arming allocates nothing.
class HostAlarm: @unchecked Sendable, TimerOwner {
    // Sendable: it has nothing; subclasses say why they are.

    init() {}

    /// The host's thread, with no lock held: the deadline has come.
    func deadlineHasCome() {}

    /// The host has ended, or ends, and lets go of the timer. Any thread, no lock held.
    func hostHasEnded() {}

    /// When to call, and how much later it may be.
    struct Request {
        var deadline_ns: Int64
        var tolerance_ns: Int64 = 0
        /// What counts as tolerance among thousands of timers.
        var crowdTolerance_ns: Int64 = 0
        /// To be called as soon as a precise engine is awake for it.
        var isEarly = false
    }

    /// To be armed once. `hostHasEnded` and `deadlineHasCome` may be called before this returns.
    final func arm(_ request: Request, on host: TimerHost) -> TimerHost.Alarm {
        guard case .engine(let core) = host else {
            let lifeline = Lifeline(self)
            return host.arm(request.deadline_ns, tolerance_ns: request.tolerance_ns) {
                lifeline.alarm.deadlineHasCome()
            }
        }
        var ofEngine = TimerRequest()
        ofEngine.deadline_ns = request.deadline_ns
        ofEngine.tolerance_ns = request.tolerance_ns
        ofEngine.crowdTolerance_ns = request.crowdTolerance_ns
        ofEngine.isEarly = request.isEarly
        let token = core.schedule(.owner(self), ofEngine)
        if token == .stale { hostHasEnded() }
        return .engine(token)
    }

    /// Held by a handler alone: when the host drops it without a call, it has ended.
    private final class Lifeline: Sendable {
        let alarm: HostAlarm

        init(_ alarm: HostAlarm) {
            self.alarm = alarm
        }

        // After a call too: an alarm that has expired ignores it.
        deinit { alarm.hostHasEnded() }
    }

    // What the engine's core calls, the first two with its lock held.

    final func prepare(_ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) -> Bool {
        fire.callback = Callback { [self] in deadlineHasCome() }
        return true
    }

    final func finish(wasCalled: Bool, _ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) {}

    final func coreHasEnded() { hostHasEnded() }
}
