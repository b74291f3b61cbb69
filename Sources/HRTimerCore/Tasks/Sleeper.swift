// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import Synchronization

/// One sleep. It resumes its task exactly once, at the first of these: its deadline, a cancellation, an interruption, the
/// end of the host.
///
/// The task and its timer hold it. The outcome is in `phase`, and the resumption carries no value, since Thread Sanitizer
/// does not see the resumption (the runtime's `swift_continuation_await`).
@safe package final class Sleeper: HostAlarm, @unchecked Sendable {
    // Sendable: `continuation`, `alarm` and `submission` are written before the phase that lets other threads read them.

    /// The reason why a sleep ended.
    package enum Outcome: Int {
        case deadline = 16
        case cancellation
        /// The sleep was interrupted. The consumer that planned it plans again.
        case interruption
    }

    /// idle -> starting -> sleeping, and from each of them to a final outcome.
    private enum Phase {
        static let idle = 0
        /// There is a continuation.
        static let starting = 1
        /// There is also a timer, which must be disarmed.
        static let sleeping = 2
        static let firstOutcome = Outcome.deadline.rawValue
    }

    private let phase = Atomic(Phase.idle)
    // Safe: the sleeper itself ensures that it is resumed exactly once; the checked kind would allocate.
    @safe private var continuation: UnsafeContinuation<Void, Never>?
    private var alarm: HostTimer?
    private let host: any TimerHost
    private let jobs: JobQueue?
    /// Written by the host's thread before the deadline ends the sleep.
    private var submission: SubmittedCall?
    /// The submission that resumed the task, on a watched host; nil if something else than the deadline has ended the sleep.
    var submitted: SubmittedCall? {
        phase.load(ordering: .acquiring) == Outcome.deadline.rawValue ? submission : nil
    }

    /// When an early call was made: -1 before, and 0 for a sleep without an early call.
    private let firedAt_ns = Atomic<Int64>(0)

    private init(_ host: any TimerHost, resumingOn jobs: JobQueue?) {
        self.host = host
        self.jobs = jobs
    }

    private func wait(_ request: TimerRequest, isolation: isolated (any Actor)? = #isolation) async -> Outcome {
        await withTaskCancellationHandler {
            await unsafe withUnsafeContinuation { continuation in unsafe start(request, continuation) }
        } onCancel: {
            end(.cancellation)
        }
        host.noteEndOfSleep()
        return Outcome(rawValue: phase.load(ordering: .acquiring)) ?? .cancellation
    }

    private func start(_ request: TimerRequest, _ continuation: UnsafeContinuation<Void, Never>) {
        self.continuation = unsafe continuation
        // The sleep ended before it began.
        guard advance(from: Phase.idle, to: Phase.starting) else { return unsafe continuation.resume() }
        host.noteSleep(until: request.deadline_ns)
        let alarm = host.arm(self, request)
        self.alarm = alarm
        if !advance(from: Phase.starting, to: Phase.sleeping), phase.load(ordering: .relaxed) != Phase.firstOutcome {
            // The thread that ended the sleep did not know the timer yet. The timer must not stay until its deadline.
            host.disarm(alarm)
        }
    }

    private func advance(from: Int, to: Int) -> Bool {
        phase.compareExchange(expected: from, desired: to, ordering: .acquiringAndReleasing).exchanged
    }

    /// Ends the sleep. Only the first call counts. The timer is gone when the task resumes.
    private func end(_ outcome: Outcome) {
        var seen = phase.load(ordering: .acquiring)
        while seen < Phase.firstOutcome {
            let (isFirst, now) = phase.compareExchange(
                expected: seen,
                desired: outcome.rawValue,
                ordering: .acquiringAndReleasing
            )
            if isFirst {
                if seen == Phase.sleeping, outcome != .deadline, let alarm { host.disarm(alarm) }
                // Before the sleep starts, only its task uses the continuation.
                if seen != Phase.idle { unsafe continuation?.resume() }
                return
            }
            seen = now
        }
    }

    package func deadlineHasCome() {
        if let observer = host.latenessObserver { submission = observer.submission() }
        if firedAt_ns.load(ordering: .relaxed) < 0 { firedAt_ns.store(host.time.now_ns, ordering: .relaxed) }
        if let jobs {
            jobs.resuming { end(.deadline) }
        } else {
            end(.deadline)
        }
    }

    package func coreHasEnded() { end(.cancellation) }

    /// Ends the sleep with an interruption, also before it begins. Any thread.
    package func interrupt() { end(.interruption) }
}

extension Sleeper {
    /// A requested sleep.
    package struct Plan: Sendable {
        package var deadline_ns: Int64
        package var tolerance_ns: Int64 = 0
        /// Whether the sleep may take a little longer if there are thousands of timers, since no tolerance was given.
        var isPatient = false

        /// Makes a plan from the arguments of `Clock.sleep(until:tolerance:)`.
        package init(until deadline_ns: Int64, tolerance: Duration?) {
            self.deadline_ns = deadline_ns
            if let tolerance { tolerance_ns = max(0, tolerance.nanosecondsRoundedUp) } else { isPatient = true }
        }

        /// Returns the request of a task that begins to wait at `begun_ns`.
        package func request(from begun_ns: Int64) -> TimerRequest {
            var request = TimerRequest()
            request.deadline_ns = deadline_ns
            request.tolerance_ns = tolerance_ns
            if isPatient { request.crowdTolerance_ns = crowdTolerance_ns(deadline_ns.subtractingSaturating(begun_ns)) }
            return request
        }
    }

    /// Returns the tolerance of a sleep of that length for which none was given, on an engine that coalesces thousands of
    /// timers: a thousandth of the length, as in poll(2), at least 50 µs and at most 1 ms.
    private static func crowdTolerance_ns(_ length_ns: Int64) -> Int64 {
        min(max(50_000, length_ns / 1000), 1_000_000)
    }

    /// Sleeps until the host's clock reads the deadline or later. A task on an executor of that host resumes within the
    /// fire. The only error is `CancellationError`.
    package static func sleep(on host: any TimerHost, _ plan: Plan, isolation: isolated (any Actor)? = #isolation)
        async throws
    {
        try Task.checkCancellation()
        if await sleep(on: host, plan, entering: { _ in true }) == .cancellation { throw CancellationError() }
    }

    /// Sleeps until the deadline, for callers that interrupt sleeps. `enter` gets each sleeper before it sleeps, and may
    /// refuse it; a refusal counts as an interruption. A cancelled task does not sleep. If the deadline has passed, the task
    /// does not sleep either, but the others of its executor get a turn: a loop that is behind would starve them.
    ///
    /// Unless the engine coalesces, it resumes the task early by the time that the resumption takes, and the task itself
    /// spins the rest, if there is any: see `EngineCore.leads`. On a precise engine the path from engine to task has thus
    /// run, and is in the cache, when the deadline comes. `leave` gets each sleeper that has slept, before that
    /// spin if there is one.
    package static func sleep(
        on host: any TimerHost,
        _ plan: Plan,
        entering enter: (Sleeper) -> Bool,
        leaving leave: (Sleeper) -> Void = { _ in },
        isolation: isolated (any Actor)? = #isolation
    ) async -> Outcome {
        let jobs = JobQueue.current.flatMap { $0.host === host ? $0 : nil }
        var begun_ns = host.time.now_ns
        if plan.deadline_ns <= begun_ns {
            await Task.yield()
            return .deadline
        }
        var request = plan.request(from: begun_ns)
        guard let core = host as? EngineCore, core.isEarly else {
            let sleeper = Sleeper(host, resumingOn: jobs)
            guard enter(sleeper) else { return .interruption }
            let outcome = await sleeper.wait(request)
            leave(sleeper)
            if outcome == .deadline { sleeper.report(plan.deadline_ns) }
            return outcome
        }
        request.isEarly = true
        while plan.deadline_ns > begun_ns {
            let length_ns = plan.deadline_ns.subtractingSaturating(begun_ns)
            let lead_ns = jobs == nil && plan.deadline_ns < .max ? core.sleepLead(length_ns) : 0
            let sleeper = Sleeper(host, resumingOn: jobs)
            sleeper.firedAt_ns.store(-1, ordering: .relaxed)
            request.deadline_ns = plan.deadline_ns - lead_ns
            guard enter(sleeper) else { return .interruption }
            let outcome = await sleeper.wait(request)
            if outcome == .deadline {
                if jobs == nil {
                    core.recordLead(host.time.now_ns - sleeper.firedAt_ns.load(ordering: .relaxed), ofSleep: length_ns)
                } else {
                    core.noteReady()
                }
            }
            leave(sleeper)
            if outcome != .deadline { return outcome }
            if core.spinOut(until: plan.deadline_ns) {
                sleeper.report(plan.deadline_ns)
                return .deadline
            }
            begun_ns = host.time.now_ns
        }
        return .deadline
    }
}

extension Sleeper {
    /// Reports a late sleep to those who watch the host. Called by the task when it goes on, on its own thread.
    private func report(_ deadline_ns: Int64) {
        guard let observer = host.latenessObserver, let submitted else { return }
        var late = observer.explain(submitted, deadline_ns: deadline_ns, called_ns: host.time.now_ns)
        late?.name = "sleep"
        if let late { observer.report(late) }
    }
}
#endif
