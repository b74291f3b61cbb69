// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
package import HRTimerCore

extension TimerLoop: TimerHost {
    package var hasEnded: Bool { state.withLock { $0.isEnded } }

    package var latenessObserver: LatenessObserver? { core.observer.reports }

    package func watch() -> LatenessObserver { core.watch() }

    package func arm(_ request: TimerRequest, _ handler: @escaping @Sendable () -> Void) -> HostTimer {
        let timer = LoopTimer(
            fireAt: MonotonicInstant(nanoseconds: request.deadline_ns),
            interval: .nanoseconds(Int64.max),
            repeats: request.isOwned
        ) { _ in handler() }
        if request.tolerance_ns > 0 { timer.tolerance = Double(request.tolerance_ns) / 1e9 }
        if request.isOwned { timer.keepsLoopRunning = request.deadline_ns < .max }
        add(timer, forMode: .common)
        return .object(timer)
    }

    package func arm(_ alarm: any HostAlarm, _ request: TimerRequest) -> HostTimer {
        let lifeline = Lifeline(alarm)
        return arm(request) { lifeline.alarm.deadlineHasCome() }
    }

    package func move(_ timer: HostTimer, to deadline_ns: Int64) {
        guard let timer = timer.onLoop else { return }
        timer.keepsLoopRunning = deadline_ns < .max
        timer.fireInstant = MonotonicInstant(nanoseconds: deadline_ns)
    }

    package func disarm(_ timer: HostTimer) { timer.onLoop?.invalidate() }

    package func submit(_ block: @escaping @Sendable () -> Void) { perform(inModes: [.common], block) }
}

extension HostTimer {
    fileprivate var onLoop: LoopTimer? {
        if case .object(let object) = self { object as? LoopTimer } else { nil }
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

extension TimerExecutor {
    /// Creates an executor inside a loop.
    ///
    /// Jobs run whenever the loop runs in one of its common modes, in order with its blocks; see
    /// `TimerLoop.perform(inModes:order:_:)`.
    public convenience init(loop: TimerLoop) {
        self.init(JobQueue(loop))
    }

    /// Creates an executor on a loop's thread, which runs at least as long as the executor exists, unless it is ended.
    public convenience init(thread: LoopThread) {
        self.init(JobQueue(thread.loop, keeper: thread))
    }
}
#endif
