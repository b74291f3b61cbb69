import HRTimerCore
import Synchronization

/// One sleep: resumes its task exactly once, for the first of deadline, cancellation, and end of the host.
final class Sleeper: Sendable {
    /// Sleeps until the host's clock reads `deadline_ns` or later. A task on an executor of that host goes on in the fire.
    ///
    /// On a precise engine the task is resumed early, by what the way to it takes, and spins the rest by itself: then all that is
    /// between engine and task is done, and in the cache, when the deadline comes.
    static func sleep(
        on host: TimerHost,
        until deadline_ns: Int64,
        tolerance: Duration?,
        isolation: isolated (any Actor)? = #isolation
    ) async throws {
        try Task.checkCancellation()
        let jobs = JobQueue.current.flatMap { $0.host.isSame(as: host) ? $0 : nil }
        let tolerance_ns = max(0, (tolerance ?? .zero).nanosecondsRoundedUp)
        guard case .engine(let core) = host, core.isEarly else {
            if deadline_ns <= host.time.now_ns { return }
            return try await Sleeper(host, resumingOn: jobs).wait(until: deadline_ns, tolerance_ns, isEarly: false)
        }
        var begun_ns = host.time.now_ns
        while deadline_ns > begun_ns {
            let length_ns = deadline_ns.subtractingSaturating(begun_ns)
            let lead_ns = jobs == nil && deadline_ns < .max ? core.hopLead(length_ns) : 0
            let sleeper = Sleeper(host, resumingOn: jobs)
            try await sleeper.wait(until: deadline_ns - lead_ns, tolerance_ns, isEarly: true)
            if jobs == nil { core.recordHop(host.time.now_ns - sleeper.fired_ns, ofSleep: length_ns) }
            if core.spinOut(until: deadline_ns) { return }
            begun_ns = host.time.now_ns
        }
    }

    private func wait(
        until deadline_ns: Int64,
        _ tolerance_ns: Int64,
        isEarly: Bool,
        isolation: isolated (any Actor)? = #isolation
    ) async throws {
        try await withTaskCancellationHandler {
            // Unsafe: that it resumes exactly once is what a Sleeper is for, and a second watchman costs an allocation.
            try await withUnsafeThrowingContinuation { continuation in
                start(deadline_ns, tolerance_ns, isEarly, continuation)
            }
        } onCancel: {
            cancel()
        }
    }

    private typealias Continuation = UnsafeContinuation<Void, any Error>

    private enum State {
        case idle
        case sleeping(Continuation, TimerHost.Alarm?)
        case ended
    }

    private let host: TimerHost
    private let jobs: JobQueue?
    private let state = Locked(State.idle)
    /// When an early one was called. Written before the task is resumed, and read after.
    private let firedAt_ns = Atomic<Int64>(0)
    private var fired_ns: Int64 { firedAt_ns.load(ordering: .relaxed) }

    private init(_ host: TimerHost, resumingOn jobs: JobQueue?) {
        self.host = host
        self.jobs = jobs
    }

    private func start(_ deadline_ns: Int64, _ tolerance_ns: Int64, _ isEarly: Bool, _ continuation: Continuation) {
        let isCancelled = state.withLock { state in
            if case .ended = state { return true }
            state = .sleeping(continuation, nil)
            return false
        }
        if isCancelled {
            continuation.resume(throwing: CancellationError())
            return
        }
        let lifeline = Lifeline(self)
        let alarm = host.arm(deadline_ns, tolerance_ns: tolerance_ns, isEarly: isEarly) {
            lifeline.sleeper.fire(isEarly)
        }
        let hasEnded = state.withLock { state in
            guard case .sleeping(let continuation, _) = state else { return true }
            state = .sleeping(continuation, alarm)
            return false
        }
        // Cancelled before the alarm could be noted: the timer must not stay until its deadline.
        if hasEnded { host.disarm(alarm) }
    }

    /// The host's thread.
    private func fire(_ isEarly: Bool) {
        if isEarly { firedAt_ns.store(host.time.now_ns, ordering: .relaxed) }
        if let jobs {
            jobs.resuming { end(.success(())) }
        } else {
            end(.success(()))
        }
    }

    private func cancel() {
        if let alarm = end(.failure(CancellationError())) { host.disarm(alarm) }
    }

    /// The timer if it is known and still needed.
    @discardableResult
    private func end(_ result: Result<Void, CancellationError>) -> TimerHost.Alarm? {
        let (continuation, alarm) = state.withLock { state -> (Continuation?, TimerHost.Alarm?) in
            defer { state = .ended }
            guard case .sleeping(let continuation, let alarm) = state else { return (nil, nil) }
            return (continuation, alarm)
        }
        continuation?.resume(with: result.mapError { $0 })
        return alarm
    }

    /// Held by the timer's handler alone: when the host drops the handler without having called it, the task must not
    /// sleep for ever.
    private final class Lifeline: Sendable {
        let sleeper: Sleeper

        init(_ sleeper: Sleeper) {
            self.sleeper = sleeper
        }

        deinit {
            sleeper.end(.failure(CancellationError()))
        }
    }
}
