// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
package import HRTimerCore

/// A thread that fires timers and runs blocks: an engine's or a loop's.
package enum TimerHost: Sendable {
    case engine(EngineCore)
    case loop(TimerLoop)

    /// An armed timer, by which it can be disarmed.
    package enum Alarm: Sendable {
        case engine(TimerToken)
        case loop(LoopTimer)
    }

    package var time: TimeBase {
        switch self {
        case .engine(let core): core.time
        case .loop(let loop): loop.time
        }
    }

    /// Tells the host's virtual time, if it has one, that the calling task is about to sleep. For messages.
    func noteSleep(until deadline_ns: Int64) {
        switch self {
        case .engine(let core): core.time.noteSleep(until: deadline_ns, on: core)
        case .loop(let loop): loop.time.noteSleep(until: deadline_ns, on: loop)
        }
    }

    /// Tells the host's virtual time, if it has one, that the calling task has slept.
    func noteEndOfSleep() {
        switch self {
        case .engine(let core): core.time.noteEndOfSleep()
        case .loop(let loop): loop.time.noteEndOfSleep()
        }
    }

    /// Watches the host: from now on its thread notes what it does.
    func watch() -> LatenessObserver {
        switch self {
        case .engine(let core): core.watch()
        case .loop(let loop): loop.core.watch()
        }
    }

    /// The observer of a watched host.
    var observer: LatenessObserver? {
        switch self {
        case .engine(let core): core.observer.reports
        case .loop(let loop): loop.core.observer.reports
        }
    }

    /// Calls `handler` once at the deadline. A host that has ended drops the handler at once.
    package func arm(
        _ deadline_ns: Int64,
        tolerance_ns: Int64,
        _ handler: @escaping @Sendable () -> Void
    ) -> Alarm {
        var request = TimerRequest()
        request.deadline_ns = deadline_ns
        request.tolerance_ns = tolerance_ns
        return arm(request, handler)
    }

    /// Calls `handler` at the deadline or, for an owned timer, at each one that it is moved to. A loop goes by the deadline and the
    /// tolerance alone, and runs on for the timer while that is armed.
    func arm(_ request: TimerRequest, _ handler: @escaping @Sendable () -> Void) -> Alarm {
        switch self {
        case .engine(let core): return .engine(core.schedule(.handler { _ in handler() }, request))
        case .loop(let loop):
            let timer = LoopTimer(
                fireAt: MonotonicInstant(nanoseconds: request.deadline_ns),
                interval: .nanoseconds(Int64.max),
                repeats: request.isOwned
            ) { _ in handler() }
            if request.tolerance_ns > 0 { timer.tolerance = Double(request.tolerance_ns) / 1e9 }
            if request.isOwned { timer.keepsLoopRunning = request.deadline_ns < .max }
            loop.add(timer, forMode: .common)
            return .loop(timer)
        }
    }

    /// Moves an owned timer to another deadline; `Int64.max` for none. Calls nothing: may be called with a lock held.
    func move(_ alarm: Alarm, to deadline_ns: Int64) {
        switch (self, alarm) {
        case (.engine(let core), .engine(let token)): _ = core.arm(token, deadline_ns: deadline_ns)
        case (_, .loop(let timer)):
            timer.keepsLoopRunning = deadline_ns < .max
            timer.fireInstant = MonotonicInstant(nanoseconds: deadline_ns)
        case (.loop, .engine): break
        }
    }

    /// Drops the handler, which is not called any more unless the call has begun.
    package func disarm(_ alarm: Alarm) {
        switch (self, alarm) {
        case (.engine(let core), .engine(let token)): _ = core.cancel(token)
        case (_, .loop(let timer)): timer.invalidate()
        case (.loop, .engine): break
        }
    }

    /// Calls `block` once, after the timers that are due and after earlier blocks. A host that has ended drops it at once.
    package func runSoon(_ block: @escaping @Sendable () -> Void) {
        switch self {
        case .engine(let core): _ = core.runSoon(block)
        case .loop(let loop): loop.perform(inModes: [.common], block)
        }
    }

    /// Whether the host has ended: it fires no timer any more.
    var hasEnded: Bool {
        switch self {
        case .engine(let core): core.hasEnded
        case .loop(let loop): loop.state.withLock { $0.isEnded }
        }
    }

    /// Whether the calling thread is the one that runs the host's handlers.
    var isOnItsThread: Bool {
        switch self {
        case .engine(let core): core.isOnItsThread
        case .loop(let loop): loop.isOnItsThread
        }
    }

    /// Whether both hosts have the same thread.
    func isSame(as other: TimerHost) -> Bool {
        switch (self, other) {
        case (.engine(let one), .engine(let other)): one === other
        case (.loop(let one), .loop(let other)): one === other
        default: false
        }
    }
}
#endif
