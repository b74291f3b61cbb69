// SPDX-License-Identifier: Apache-2.0
import HRTimer
import Synchronization

#if AsyncAlgorithms
import AsyncAlgorithms
#endif

/// The costs of operators, retries and jitter, compared with swift-async-algorithms where that has the same.
enum PacingOperations {
    static var comparisons: [OperationComparison] { [debounce, throttle, retry, jitter] }

    private static let count = 100_000
}

// Elements that replace one another.
extension PacingOperations {
    /// Elements one after another, without a wait.
    private struct Elements: AsyncSequence, Sendable {
        let count: Int

        struct AsyncIterator: AsyncIteratorProtocol {
            var left: Int

            mutating func next() async -> Int? { advance() }
            mutating func next(isolation: isolated (any Actor)?) async -> Int? { advance() }

            private mutating func advance() -> Int? {
                guard left > 0 else { return nil }
                left -= 1
                return left
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(left: count) }
    }

    /// Measures a whole iteration, and returns the share of one element.
    private static func each(
        _ count: Int = count,
        _ iterate: (Elements) async throws -> Void
    ) async rethrows -> OperationSample {
        try await iterate(Elements(count: count / 10))
        let meter = OperationMeter()
        try await iterate(Elements(count: count))
        return meter.sample(of: count)
    }

    private static var debounce: OperationComparison {
        OperationComparison(
            operation: "debounce-element",
            explanation: "an element that comes within the period of a debounce, of 10 s, and replaces the one before",
            baseID: "hrtimer.debounce",
            rivals: [
                .inTask("hrtimer.debounce") {
                    await each { for await _ in $0.debounce(for: .seconds(10), on: .monotonic) {} }
                },
                .inTask("hrtimer.debouncer") {
                    let debouncer = Debouncer<Int>(for: .seconds(10)) { _ in }
                    return await each { for await element in $0 { debouncer.send(element) } }
                },
                asyncAlgorithms("async-algorithms.debounce") { elements in
                    #if AsyncAlgorithms
                    for await _ in elements.debounce(for: .seconds(10), clock: SuspendingClock()) {}
                    #endif
                },
            ]
        )
    }

    private static var throttle: OperationComparison {
        OperationComparison(
            operation: "throttle-element",
            explanation: "an element that comes within the period of a throttle, of 1 ms, and replaces the one before",
            baseID: "hrtimer.throttle",
            rivals: [
                .inTask("hrtimer.throttle") {
                    await each { for await _ in $0.throttle(for: .milliseconds(1), on: .monotonic) {} }
                },
                .inTask("hrtimer.throttle-object") {
                    let throttle = Throttle<Int>(for: .milliseconds(1)) { _ in }
                    return await each { for await element in $0 { throttle.send(element) } }
                },
                asyncAlgorithms("async-algorithms.throttle") { elements in
                    #if AsyncAlgorithms
                    for await _ in elements._throttle(for: .milliseconds(1), clock: SuspendingClock()) {}
                    #endif
                },
            ]
        )
    }

    private static func asyncAlgorithms(
        _ id: String,
        _ iterate: @escaping @Sendable (Elements) async -> Void
    ) -> OperationRival {
        guard Subject.hasAsyncAlgorithms else {
            return OperationRival(id: id) { _ in throw BenchError(Subject.withoutAsyncAlgorithms) }
        }
        return .inTask(id) { await each(count / 10, iterate) }
    }
}

// Waits before another try, and jitter.
extension PacingOperations {
    private struct Failure: Error {}

    private static var retry: OperationComparison {
        let wait = Duration.microseconds(100)
        let backoff = Backoff.exponential(initial: wait, maximum: wait, jitter: .full)
        let rivals = [
            waiting("hrtimer.retry") {
                try? await Retry(.constant(wait), attempts: 2).run { throw Failure() }
            },
            waiting("hrtimer.retry.full-jitter") {
                try? await Retry(backoff, attempts: 2).run { throw Failure() }
            },
            waiting("hrtimer.retry.limit") {
                try? await Retry(.constant(wait), attempts: 2, within: .seconds(5)).run { throw Failure() }
            },
            waiting("hrtimer.clock-sleep") { try? await TaskOperations.sleepOurs(for: wait) },
            waiting("swift.task-sleep") { try? await Task.sleep(for: wait, tolerance: .zero) },
        ]
        return OperationComparison(
            operation: "retry-wait",
            explanation:
                "an operation that fails at once is tried again after 100 µs; processor time, the sleep's included",
            baseID: rivals[0].id,
            rivals: rivals
        )
    }

    private static func waiting(_ id: String, _ wait: @escaping @Sendable () async -> Void) -> OperationRival {
        .inTask(id) {
            var sample = await TaskOperations.repeated { _ in await wait() }
            sample.nsPerOp = nil
            return sample
        }
    }

    private static var jitter: OperationComparison {
        OperationComparison(
            operation: "jittered-tick",
            explanation: "a tick of a repeating timer that is behind and calls for each, one after another",
            baseID: "hrtimer.engine.jitter",
            rivals: [
                .inTask("hrtimer.engine.jitter") { try await ticks(.full) },
                .inTask("hrtimer.engine") { try await ticks(nil) },
            ]
        )
    }

    private final class Ticks: Sendable {
        let left: Atomic<Int>
        init(_ count: Int) { left = Atomic(count) }
    }

    private static func ticks(_ jitter: Jitter?) async throws -> OperationSample {
        let engine = try TimerEngine()
        let meter = OperationMeter()
        await withCheckedContinuation { continuation in
            let ticks = Ticks(count)
            let first = engine.now - .microseconds(count)
            engine.schedule(at: first, every: .microseconds(1), policy: .burst, jitter: jitter) { [weak engine] fire in
                let left = ticks.left.subtract(1, ordering: .relaxed).newValue
                if left > 0 { return }
                engine?.cancel(fire.token)
                if left == 0 { continuation.resume() }
            }
        }
        let sample = meter.sample(of: count)
        await engine.shutdown()
        return sample
    }
}
