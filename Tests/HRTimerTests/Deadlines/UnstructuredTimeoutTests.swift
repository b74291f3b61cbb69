// SPDX-License-Identifier: Apache-2.0
import HRTimerTesting
import TestSupport
import Testing

@testable import HRTimer
@testable import HRTimerCore

/// Tests of `withUnstructuredTimeout`, which leaves its work behind, in virtual time.
@Suite struct UnstructuredTimeoutTests {
    private struct Failure: Error, Equatable {}

    /// Waits for `length`, and ignores its cancellation.
    private static func stubborn(_ length: Duration) async {
        let end = MonotonicInstant.now + length
        await withUnsafeContinuation { continuation in
            TimerEngine.shared.schedule(at: end) { _ in continuation.resume() }
        }
    }

    @Test("The call returns at the deadline though its work ignores cancellation; a late result goes to the handler")
    func leavesBehind() async throws {
        try await withManualTime { time in
            let start = time.now
            let late = Recorder<Int>()
            let wasCancelled = Recorder<Bool>()
            do {
                _ = try await withUnstructuredTimeout(.milliseconds(50)) {
                    await Self.stubborn(.seconds(2))
                    wasCancelled.append(Task.isCancelled)
                    return 7
                } late: { result in
                    late.append((try? result.get()) ?? -1)
                }
                Issue.record("it must throw")
            } catch let error as TimedOut {
                #expect(error.timeout == .milliseconds(50) && error.underlying is CancellationError)
            }
            #expect(start.duration(to: time.now) == .milliseconds(50))
            #expect(late.count == 0 && !Task.isCancelled)
            await time.advance(by: .seconds(10))
            #expect(late.all == [7] && wasCancelled.all == [true])
            try time.checkNothingIsPending()
        }
    }

    @Test("Work that ends in time returns its result or throws its error, skips the handler, and leaves no timer")
    func inTime() async throws {
        try await withManualTime { time in
            let late = Recorder<Bool>()
            let value = try await withUnstructuredTimeout(.seconds(5)) {
                try await Task.sleep(for: .seconds(1), clock: .monotonic)
                return 5
            } late: { _ in
                late.append(true)
            }
            #expect(value == 5)
            try time.checkNothingIsPending()
            await #expect(throws: Failure()) {
                try await withUnstructuredTimeout(.seconds(5)) { () async throws -> Int in
                    throw Failure()
                } late: { _ in
                    late.append(true)
                }
            }
            await time.advance(by: .seconds(10))
            #expect(late.count == 0)
            try time.checkNothingIsPending()
        }
    }

    @Test(
        "A late error goes to the handler as well, and the work's cancellation handlers run at the deadline"
    )
    func lateError() async throws {
        try await withManualTime { time in
            let start = time.now
            let cancelledAt = Recorder<Duration>()
            let late = Recorder<Bool>()
            await #expect(throws: TimedOut.self) {
                try await withUnstructuredTimeout(.seconds(1)) {
                    await withTaskCancellationHandler {
                        await Self.stubborn(.seconds(3))
                    } onCancel: {
                        cancelledAt.append(start.duration(to: .now))
                    }
                    throw Failure()
                } late: { (result: Result<Void, any Error>) in
                    if case .failure(let error) = result { late.append(error is Failure) }
                }
            }
            await time.advance(by: .seconds(10))
            #expect(cancelledAt.all == [.seconds(1)] && late.all == [true])
        }
    }

    @Test("Cancelling the caller returns at once with a CancellationError, cancels the work and leaves it behind")
    func callerCancelled() async throws {
        try await withManualTime { time in
            let start = time.now
            let late = Recorder<Bool>()
            let task = Task {
                try await withUnstructuredTimeout(.seconds(100)) {
                    await Self.stubborn(.seconds(2))
                    return Task.isCancelled
                } late: { result in
                    late.append((try? result.get()) ?? false)
                }
            }
            await time.advance(by: .seconds(1))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(start.duration(to: time.now) == .seconds(1))
            await time.advance(by: .seconds(10))
            #expect(late.all == [true])
            try time.checkNothingIsPending()
        }
    }

    @Test(
        "A timeout of zero, less or NaN does not begin the work; after the engine's shutdown the call times out",
        arguments: [0, -1, .nan]
    )
    func noTime(_ seconds: Double) async throws {
        try await withManualTime { time in
            let begun = Recorder<Bool>()
            await #expect(throws: TimedOut.self) {
                try await withUnstructuredTimeout(seconds) { begun.append(true) }
            }
            await time.runUntilIdle()
            #expect(begun.count == 0)
            let engine = try TimerEngine()
            await engine.shutdown()
            await #expect(throws: TimedOut.self) {
                try await withUnstructuredTimeout(.seconds(60), clock: MonotonicClock(engine: engine)) {
                    await Self.stubborn(.seconds(5))
                }
            }
            #expect(time.now == MonotonicInstant(nanoseconds: 10_000_000_000))
            await time.advance(by: .seconds(5))
        }
    }

    @Test("The work's captures and the handler are released once the work has ended")
    func frees() async throws {
        try await withManualTime { time in
            let canaries = Canaries()
            func call() async {
                _ = try? await withUnstructuredTimeout(.seconds(1)) { [canary = canaries.make()] in
                    await Self.stubborn(.seconds(3))
                    withExtendedLifetime(canary) {}
                } late: { [canary = canaries.make()] _ in
                    withExtendedLifetime(canary) {}
                }
            }
            await call()
            #expect(canaries.count == 2)
            await time.advance(by: .seconds(10))
            #expect(canaries.count == 0)
        }
    }
}
