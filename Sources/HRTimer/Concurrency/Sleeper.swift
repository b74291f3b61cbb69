import HRTimerCore
import Synchronization

/// One sleep: resumes its task exactly once, for the first of deadline, cancellation, interruption, and end of the host.
///
/// The task holds it, and so does its timer. The resumption carries no value, since Thread Sanitizer does not see it
/// (the runtime's `swift_continuation_await`): the result of the sleep stands in `phase`.
final class Sleeper: HostAlarm, @unchecked Sendable {
    // Sendable: `continuation` and `alarm` are written before the phase that lets others read them.

    /// What ended a sleep.
    enum Outcome: Int {
        case deadline = 16
        case cancellation
        /// By the consumer that planned it, and plans again.
        case interruption
    }

    /// idle -> starting -> sleeping, and from each of them to an outcome, which stays.
    private enum Phase {
        static let idle = 0
        /// There is a continuation.
        static let starting = 1
        /// There is a timer too, to be disarmed.
        static let sleeping = 2
        static let firstOutcome = Outcome.deadline.rawValue
    }

    private let phase = Atomic(Phase.idle)
    // Unsafe: that it is resumed exactly once is what a Sleeper is for, and a second watchman costs an allocation.
    private var continuation: UnsafeContinuation<Void, Never>?
    private var alarm: TimerHost.Alarm?
    private let host: TimerHost
    private let jobs: JobQueue?
    /// When an early one was called.
    private let firedAt_ns = Atomic<Int64>(0)

    private init(_ host: TimerHost, resumingOn jobs: JobQueue?) {
        self.host = host
        self.jobs = jobs
        super.init()
    }

    private func wait(_ request: Request, isolation: isolated (any Actor)? = #isolation) async -> Outcome {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in start(request, continuation) }
        } onCancel: {
            end(.cancellation)
        }
        return Outcome(rawValue: phase.load(ordering: .acquiring)) ?? .cancellation
    }

    private func start(_ request: Request, _ continuation: UnsafeContinuation<Void, Never>) {
        self.continuation = continuation
        // Ended before it began.
        guard advance(from: Phase.idle, to: Phase.starting) else { return continuation.resume() }
        host.noteSleep(until: request.deadline_ns)
        let alarm = arm(request, on: host)
        self.alarm = alarm
        if !advance(from: Phase.starting, to: Phase.sleeping), phase.load(ordering: .relaxed) != Phase.firstOutcome {
            // The thread that ended the sleep did not know the timer, which must not stay until its deadline.
            host.disarm(alarm)
        }
    }

    private func advance(from: Int, to: Int) -> Bool {
        phase.compareExchange(expected: from, desired: to, ordering: .acquiringAndReleasing).exchanged
    }

    /// The first call counts. The timer has gone when the task goes on.
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
                // Before it starts the continuation is its task's alone.
                if seen != Phase.idle { continuation?.resume() }
                return
            }
            seen = now
        }
    }

    override func deadlineHasCome() {
        if firedAt_ns.load(ordering: .relaxed) < 0 { firedAt_ns.store(host.time.now_ns, ordering: .relaxed) }
        if let jobs {
            jobs.resuming { end(.deadline) }
        } else {
            end(.deadline)
        }
    }

    override func hostHasEnded() { end(.cancellation) }

    /// Ends the sleep, also one that has not begun. Any thread.
    func interrupt() { end(.interruption) }
}

extension Sleeper {
    /// A sleep as it is asked for.
    struct Plan: Sendable {
        var deadline_ns: Int64
        var tolerance_ns: Int64 = 0
        /// May wait a little among thousands, where nothing was said of tolerance.
        var isPatient = false

        /// As `Clock.sleep(until:tolerance:)` has it.
        init(until deadline_ns: Int64, tolerance: Duration?) {
            self.deadline_ns = deadline_ns
            if let tolerance { tolerance_ns = max(0, tolerance.nanosecondsRoundedUp) } else { isPatient = true }
        }

        /// For a task that begins to wait at `begun_ns`.
        func request(from begun_ns: Int64) -> HostAlarm.Request {
            var request = HostAlarm.Request(deadline_ns: deadline_ns, tolerance_ns: tolerance_ns)
            if isPatient { request.crowdTolerance_ns = crowdTolerance_ns(deadline_ns.subtractingSaturating(begun_ns)) }
            return request
        }
    }

    /// What a sleep of that length may be late where nothing was said of tolerance, on an engine that coalesces thousands: a
    /// thousandth, as poll(2) has it, 50 µs at least and 1 ms at most.
    private static func crowdTolerance_ns(_ length_ns: Int64) -> Int64 {
        min(max(50_000, length_ns / 1000), 1_000_000)
    }

    /// Sleeps until the host's clock reads the deadline or later. A task on an executor of that host goes on in the fire.
    /// Throws `CancellationError` alone.
    static func sleep(on host: TimerHost, _ plan: Plan, isolation: isolated (any Actor)? = #isolation) async throws {
        try Task.checkCancellation()
        if await sleep(on: host, plan, entering: { _ in true }) == .cancellation { throw CancellationError() }
    }

    /// The same for callers that interrupt sleeps: `enter` gets each sleeper before it sleeps, and may refuse, which
    /// counts as an interruption. A cancelled task does not sleep.
    ///
    /// On a precise engine the task is resumed early, by what the way to it takes, and spins the rest by itself: then all that
    /// is between engine and task is done, and in the cache, when the deadline comes.
    static func sleep(
        on host: TimerHost,
        _ plan: Plan,
        entering enter: (Sleeper) -> Bool,
        isolation: isolated (any Actor)? = #isolation
    ) async -> Outcome {
        let jobs = JobQueue.current.flatMap { $0.host.isSame(as: host) ? $0 : nil }
        var begun_ns = host.time.now_ns
        var request = plan.request(from: begun_ns)
        guard case .engine(let core) = host, core.isEarly else {
            if plan.deadline_ns <= begun_ns { return .deadline }
            let sleeper = Sleeper(host, resumingOn: jobs)
            return enter(sleeper) ? await sleeper.wait(request) : .interruption
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
            if outcome != .deadline { return outcome }
            if jobs == nil {
                core.recordLead(host.time.now_ns - sleeper.firedAt_ns.load(ordering: .relaxed), ofSleep: length_ns)
            }
            if core.spinOut(until: plan.deadline_ns) { return .deadline }
            begun_ns = host.time.now_ns
        }
        return .deadline
    }
}
