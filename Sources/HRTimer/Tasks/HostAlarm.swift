// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

/// The owner of a timer of a host that needs no more than to be called: at the deadline, or when the host has ended and the deadline
/// never comes.
protocol HostAlarm: TimerOwner {
    /// Called at the deadline. On the host's thread, with no lock held.
    func deadlineHasCome()
}

extension HostAlarm {
    func prepare(_ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) -> Bool {
        fire.callback = Callback { [self] in deadlineHasCome() }
        return true
    }

    func finish(wasCalled: Bool, _ now_ns: Int64, _ core: inout FiringCore, _ fire: inout Fire) {}
}

extension TimerHost {
    /// Arms a timer that calls `alarm`: once or, if the request says that it is owned, whenever `move` has armed it. The host may
    /// call `coreHasEnded` and `deadlineHasCome` before this returns.
    ///
    /// On an engine the timer holds the alarm itself, so that arming allocates nothing. A loop goes by the deadline and the tolerance
    /// alone.
    func arm(_ alarm: any HostAlarm, _ request: TimerRequest) -> Alarm {
        switch self {
        case .engine(let core):
            let token = core.schedule(.owner(alarm), request)
            if token == .stale { alarm.coreHasEnded() }
            return .engine(token)
        case .loop:
            let lifeline = Lifeline(alarm)
            return arm(request) { lifeline.alarm.deadlineHasCome() }
        }
    }
}

/// Held by a handler alone: if the loop drops the handler without a call, the loop has ended.
private final class Lifeline: Sendable {
    let alarm: any HostAlarm

    init(_ alarm: any HostAlarm) {
        self.alarm = alarm
    }

    // Runs also after a call, and when the timer is disarmed; an alarm that waits for nothing ignores it.
    deinit { alarm.coreHasEnded() }
}
#endif
