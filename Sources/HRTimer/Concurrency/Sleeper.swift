/// One sleep: resumes its task exactly once, for the first of deadline, cancellation, and end of the engine.
final class Sleeper: Sendable {
    private enum State {
        case idle
        case sleeping(CheckedContinuation<Void, any Error>, TimerToken?)
        case ended
    }

    private let engine: TimerEngine
    private let state = Locked(State.idle)

    init(engine: TimerEngine) {
        self.engine = engine
    }

    func start(
        _ deadline: MonotonicInstant,
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
        let token = engine.schedule(at: deadline, tolerance: tolerance ?? .zero) { _ in
            lifeline.sleeper.end(.success(()))
        }
        let hasEnded = state.withLock { state in
            guard case .sleeping(let continuation, _) = state else { return true }
            state = .sleeping(continuation, token)
            return false
        }
        // Cancelled before the token could be noted: the timer must not stay until its deadline.
        if hasEnded { engine.cancel(token) }
    }

    func cancel() {
        if let token = end(.failure(CancellationError())) { engine.cancel(token) }
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
