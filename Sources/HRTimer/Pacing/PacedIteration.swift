// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
import HRTimerCore

/// One iteration over a `PacedSequence`: a task gives a pacer the elements of the base, and the consumer takes what passes. An
/// error of the base comes last, after the elements that have passed.
final class PacedIteration<Element: Sendable, Failure: Error>: Sendable {
    private let pacer: Pacer<Result<Element, Failure>>
    private let task: Task<Void, Never>

    init<Base: AsyncSequence & Sendable>(
        _ base: Base,
        _ gate: BurstGate<Result<Element, Failure>>,
        on host: any TimerHost
    ) where Base.Element == Element, Base.Failure == Failure {
        let pacer = Pacer(gate, on: host)
        self.pacer = pacer
        task = Task {
            var iterator = base.makeAsyncIterator()
            do throws(Failure) {
                while let element = try await iterator.next(isolation: nil) {
                    if !pacer.send(.success(element)) { return }
                }
                pacer.finish()
            } catch {
                pacer.finish(with: .failure(error))
            }
        }
    }

    /// The consumer has gone.
    deinit { end() }

    private func end() {
        pacer.end()
        task.cancel()
    }

    func next(isolation: isolated (any Actor)?) async throws(Failure) -> Element? {
        while true {
            if Task.isCancelled { end() }
            if let step = pacer.take() { return try step.get() }
            if pacer.isOver {
                end()
                return nil
            }
            await wait(isolation: isolation)
        }
    }

    private func wait(isolation: isolated (any Actor)?) async {
        await withTaskCancellationHandler {
            await unsafe withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                // Safe: the pacer calls this function once, or returns false.
                if !pacer.wait({ unsafe continuation.resume() }) { unsafe continuation.resume() }
            }
        } onCancel: {
            end()
        }
    }
}
#endif
