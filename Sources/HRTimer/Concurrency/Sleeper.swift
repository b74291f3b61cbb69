/// One sleep: resumes its task exactly once, for the first of deadline, cancellation, and end of the engine.
final class Sleeper: Sendable {
    /// Sleeps until the engine's clock reads `deadline_ns` or later.
    static func sleep(on engine: EngineCore, until deadline_ns: Int64, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        if deadline_ns <= engine.time.now_ns { return }
        let sleeper = Sleeper(engine: engine)
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                sleeper.start(deadline_ns, tolerance, continuation)
            }
        } onCancel: {
            sleeper.cancel()
        }
    }

    private enum State {
        case idle
        case sleeping(CheckedContinuation<Void, any Error>, TimerToken?)
        case ended
    }

    private let engine: EngineCore
    private let state = Locked(State.idle)

    init(engine: EngineCore) {
        self.engine = engine
    }

    func start(
        _ deadline_ns: Int64,
        _ tolerance: Duration?,
        _ continuation: CheckedContinuation<Void, any Error>
    ) {
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
        var request = EngineCore.Request()
        request.deadline_ns = deadline_ns
        request.tolerance_ns = max(0, (tolerance ?? .zero).nanosecondsRoundedUp)
        let token = engine.schedule(.call { _ in lifeline.sleeper.end(.success(())) }, request)
        let hasEnded = state.withLock { state in
            guard case .sleeping(let continuation, _) = state else { return true }
            state = .sleeping(continuation, token)
            return false
        }
        // Cancelled before the token could be noted: the timer must not stay until its deadline.
        if hasEnded { _ = engine.cancel(token) }
    }

    func cancel() {
        if let token = end(.failure(CancellationError())) { _ = engine.cancel(token) }
    }

    /// The timer's token if it is known and still needed.
    @discardableResult
    private func end(_ result: Result<Void, CancellationError>) -> TimerToken? {
        let (continuation, token) = state.withLock { state -> (CheckedContinuation<Void, any Error>?, TimerToken?) in
            defer { state = .ended }
            guard case .sleeping(let continuation, let token) = state else { return (nil, nil) }
            return (continuation, token)
        }
        continuation?.resume(with: result.mapError { $0 })
        return token
    }

    /// Held by the timer's handler alone: when the engine drops the handler without having called it, the task must not
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
