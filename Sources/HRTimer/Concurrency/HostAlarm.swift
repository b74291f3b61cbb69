#if os(Linux)
import HRTimerCore

/// An object that a host's timer calls: at its deadline, or when the host has ended and the deadline never comes.
///
/// On an engine the timer holds this object itself, so that arming allocates nothing.
class HostAlarm: @unchecked Sendable, TimerOwner {
    // Sendable: it has no members; subclasses say why they are Sendable.

    init() {}

    /// Called at the deadline. On the host's thread, with no lock held.
    func deadlineHasCome() {}

    /// Called when the host has ended, or ends, and drops the timer. On any thread, with no lock held.
    func hostHasEnded() {}

    /// The deadline and the tolerances of a timer.
    struct Request {
        /// `Int64.max` for a timer that is not armed yet.
        var deadline_ns = Int64.max
        var tolerance_ns: Int64 = 0
        /// The tolerance on an engine with thousands of timers.
        var crowdTolerance_ns: Int64 = 0
        /// Whether to call as soon as a precise engine has woken for the deadline, possibly before it.
        var isEarly = false
        /// Whether the timer stays until it is disarmed, however often `TimerHost.move` arms it.
        var isOwned = false
    }

    /// Arms a timer that calls this object. Must be called only once. The host may call `hostHasEnded` and `deadlineHasCome`
    /// before this returns.
    final func arm(_ request: Request, on host: TimerHost) -> TimerHost.Alarm {
        var ofEngine = TimerRequest()
        ofEngine.deadline_ns = request.deadline_ns
        ofEngine.tolerance_ns = request.tolerance_ns
        ofEngine.crowdTolerance_ns = request.crowdTolerance_ns
        ofEngine.isEarly = request.isEarly
        ofEngine.isOwned = request.isOwned
        guard case .engine(let core) = host else {
            let lifeline = Lifeline(self)
            return host.arm(ofEngine) { lifeline.alarm.deadlineHasCome() }
        }
        let token = core.schedule(.owner(self), ofEngine)
        if token == .stale { hostHasEnded() }
        return .engine(token)
    }

    /// Held by a handler alone: if the host drops the handler without a call, the host has ended.
    private final class Lifeline: Sendable {
        let alarm: HostAlarm

        init(_ alarm: HostAlarm) {
            self.alarm = alarm
        }

        // Runs also after a call; an alarm that has expired ignores it.
        deinit { alarm.hostHasEnded() }
    }

    // Called by the engine's core, the first two with its lock held.

    final func prepare(_ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) -> Bool {
        fire.callback = Callback { [self] in deadlineHasCome() }
        return true
    }

    func notesSubmission(_ submitted: () -> SubmittedCall) -> Bool { false }

    final func finish(wasCalled: Bool, _ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) {}

    final func coreHasEnded() { hostHasEnded() }
}
#endif
