#if os(Linux)
import HRTimerCore

/// The object that a host's timer calls once: at its deadline, or because the host has ended and the deadline never
/// comes.
///
/// On an engine the timer holds this object itself, so that arming allocates nothing.
class HostAlarm: @unchecked Sendable, TimerOwner {
    // Sendable: it has no members; subclasses say why they are Sendable.

    init() {}

    /// The deadline has come. On the host's thread, with no lock held.
    func deadlineHasCome() {}

    /// The host has ended, or ends, and drops the timer. On any thread, with no lock held.
    func hostHasEnded() {}

    /// The deadline and the tolerance.
    struct Request {
        var deadline_ns: Int64
        var tolerance_ns: Int64 = 0
        /// The tolerance on an engine with thousands of timers.
        var crowdTolerance_ns: Int64 = 0
        /// Whether to call as soon as a precise engine is awake for it.
        var isEarly = false
    }

    /// Must be armed only once. `hostHasEnded` and `deadlineHasCome` may be called before this returns.
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

    /// Only a handler holds it: if the host drops that without a call, the host has ended.
    private final class Lifeline: Sendable {
        let alarm: HostAlarm

        init(_ alarm: HostAlarm) {
            self.alarm = alarm
        }

        // Also after a call: an alarm that has expired ignores it.
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
