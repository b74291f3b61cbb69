import HRTimerCore

/// One sleep: resumes its task exactly once, for the first of deadline, cancellation, and end of the host.
final class Sleeper: Sendable {
    /// Sleeps until the host's clock reads `deadline_ns` or later. A task on an executor of that host goes on in the fire.
    static func sleep(
        on host: TimerHost,
        until deadline_ns: Int64,
        tolerance: Duration?,
        isolation: isolated (any Actor)? = #isolation
    ) async throws {
        try Task.checkCancellation()
        if deadline_ns <= host.time.now_ns { return }
        let jobs = JobQueue.current.flatMap { $0.host.isSame(as: host) ? $0 : nil }
        let sleeper = Sleeper(host, resumingOn: jobs)
        try await withTaskCancellationHandler {
            // Unsafe: that it resumes exactly once is what a Sleeper is for, and a second watchman costs an allocation.
            try await withUnsafeThrowingContinuation { continuation in
                sleeper.start(deadline_ns, tolerance, continuation)
            }
        } onCancel: {
            sleeper.cancel()
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

    private init(_ host: TimerHost, resumingOn jobs: JobQueue?) {
        self.host = host
        self.jobs = jobs
    }

    private func start(_ deadline_ns: Int64, _ tolerance: Duration?, _ continuation: Continuation) {
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
        let tolerance_ns = max(0, (tolerance ?? .zero).nanosecondsRoundedUp)
        let alarm = host.arm(deadline_ns, tolerance_ns: tolerance_ns) { lifeline.sleeper.fire() }
        let hasEnded = state.withLock { state in
            guard case .sleeping(let continuation, _) = state else { return true }
            state = .sleeping(continuation, alarm)
            return false
        }
        // Cancelled before the alarm could be noted: the timer must not stay until its deadline.
        if hasEnded { host.disarm(alarm) }
    }

    /// The host's thread.
    private func fire() {
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
