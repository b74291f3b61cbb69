import CBench
import HRTimer
import Synchronization

#if AsyncAlgorithms
import AsyncAlgorithms
#endif

/// The costs of operators, retries and jitter, compared with swift-async-algorithms where that has the same.
enum PacingOperations {
    static var comparisons: [OperationComparison] { [debounce, throttle, retry, jitter] }

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

    private static let count = 100_000

    /// Measures a whole iteration, and returns the share of one element.
    private static func each(_ count: Int = count, _ iterate: (Elements) async throws -> Void) async rethrows
        -> OperationSample
    {
        try await iterate(Elements(count: count / 10))
        let before = cbench_usage_now()
        let start_ns = cbench_now_ns()
        try await iterate(Elements(count: count))
        let took_ns = cbench_now_ns() - start_ns
        let cpu_ns = cbench_usage_now().process_cpu_ns - before.process_cpu_ns
        return OperationSample(nsPerOp: Double(took_ns) / Double(count), cpuPerOp_ns: Double(cpu_ns) / Double(count))
    }

    private static var debounce: OperationComparison {
        TaskOperations.comparison(
            "debounce-element",
            "an element that comes within the period of a debounce, of 10 s, and replaces the one before",
            base: "hrtimer.debounce",
            [
                TaskOperations.rival("hrtimer.debounce") {
                    await each { for await _ in $0.debounce(for: .seconds(10), on: .monotonic) {} }
                },
                TaskOperations.rival("hrtimer.debouncer") {
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
        TaskOperations.comparison(
            "throttle-element",
            "an element that comes within the period of a throttle, of 1 ms, and replaces the one before",
            base: "hrtimer.throttle",
            [
                TaskOperations.rival("hrtimer.throttle") {
                    await each { for await _ in $0.throttle(for: .milliseconds(1), on: .monotonic) {} }
                },
                TaskOperations.rival("hrtimer.throttle-object") {
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
            return OperationRival(id) { _ in throw BenchError(Subject.withoutAsyncAlgorithms) }
        }
        return TaskOperations.rival(id) { await each(count / 10, iterate) }
    }

    private struct Failure: Error {}

    private static var retry: OperationComparison {
        var rivals: [OperationRival] = []
        let wait = Duration.microseconds(100)
        #if compiler(>=6.2)
        let backoff = Backoff.exponential(initial: wait, maximum: wait, jitter: .full)
        rivals += [
            waiting("hrtimer.retry") {
                try? await Retry(.constant(wait), attempts: 2).run { throw Failure() }
            },
            waiting("hrtimer.retry.full-jitter") {
                try? await Retry(backoff, attempts: 2).run { throw Failure() }
            },
            waiting("hrtimer.retry.limit") {
                try? await Retry(.constant(wait), attempts: 2, within: .seconds(5)).run { throw Failure() }
            },
        ]
        #endif
        rivals += [
            waiting("hrtimer.clock-sleep") { try? await TaskOperations.sleepOurs(for: wait) },
            waiting("swift.task-sleep") { try? await Task.sleep(for: wait, tolerance: .zero) },
        ]
        return TaskOperations.comparison(
            "retry-wait",
            "an operation that fails at once is tried again after 100 µs; processor time, the sleep's included",
            base: rivals[0].id,
            rivals
        )
    }

    private static func waiting(_ id: String, _ wait: @escaping @Sendable () async -> Void) -> OperationRival {
        TaskOperations.rival(id) {
            var sample = await TaskOperations.repeated { _ in await wait() }
            sample.nsPerOp = nil
            return sample
        }
    }

    private static var jitter: OperationComparison {
        TaskOperations.comparison(
            "jittered-tick",
            "a tick of a repeating timer that is behind and calls for each, one after another",
            base: "hrtimer.engine.jitter",
            [
                TaskOperations.rival("hrtimer.engine.jitter") { try await ticks(.full) },
                TaskOperations.rival("hrtimer.engine") { try await ticks(nil) },
            ]
        )
    }

    private final class Ticks: Sendable {
        let left: Atomic<Int>
        init(_ count: Int) { left = Atomic(count) }
    }

    private static func ticks(_ jitter: Jitter?) async throws -> OperationSample {
        let engine = try TimerEngine()
        let before = cbench_usage_now()
        let start_ns = cbench_now_ns()
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
        let took_ns = cbench_now_ns() - start_ns
        let cpu_ns = cbench_usage_now().process_cpu_ns - before.process_cpu_ns
        await engine.shutdown()
        return OperationSample(nsPerOp: Double(took_ns) / Double(count), cpuPerOp_ns: Double(cpu_ns) / Double(count))
    }
}
