// SPDX-License-Identifier: Apache-2.0
import CBench
import HRTimerCore

/// Several threads that operate at the same time, each on timers of its own, so that they share only what holds the timers.
struct OperatingThreads: Sendable {
    let count: Int
    let operationsOfThread: Int

    /// What one thread measured.
    struct Span: Sendable {
        let start_ns: Int64
        let end_ns: Int64
        /// How long each operation took.
        let calls: LatencyHistogram
        let allocations: UInt64
    }

    var operations: Int { count * operationsOfThread }

    /// Returns each thread's number of timers.
    func share(of timers: Int) -> Int { max(1, timers / count) }

    /// Runs `body` on all threads, and returns the wall time over all operations.
    func measure(
        _ seed: UInt64,
        _ body: @escaping @Sendable (_ thread: Int, inout Deadlines) -> Span
    ) throws -> OperationSample {
        let before = cbench_usage_now()
        let spans = try onFreshThreads(count) { thread in
            var deadlines = Deadlines(seed: seed &+ UInt64(thread))
            return body(thread, &deadlines)
        }
        let cpu_ns = cbench_usage_now().process_cpu_ns - before.process_cpu_ns
        let calls = LatencyHistogram()
        for span in spans { calls.add(span.calls) }
        let took_ns = (spans.map(\.end_ns).max() ?? 0) - (spans.map(\.start_ns).min() ?? 0)
        return OperationSample(
            nsPerOp: Double(took_ns) / Double(operations),
            cpuPerOp_ns: Double(cpu_ns) / Double(operations),
            longestCall_ns: calls.max_ns,
            pollP999_ns: calls.value_ns(at: .p999).map(Double.init),
            allocationsPerOp: blocksPerOp(spans.map(\.allocations).reduce(0, +), operations)
        )
    }

    /// Times each operation of a thread separately, where the longest pauses matter; a clock reading is short compared with
    /// a contended lock.
    func timeEach(_ operation: (_ index: Int) -> Void) -> Span {
        let calls = LatencyHistogram()
        let allocations = cbench_thread_allocations()
        let start_ns = cbench_now_ns()
        var before_ns = start_ns
        for index in 0..<operationsOfThread {
            operation(index)
            let after_ns = cbench_now_ns()
            calls.record(after_ns - before_ns)
            before_ns = after_ns
        }
        return Span(
            start_ns: start_ns,
            end_ns: before_ns,
            calls: calls,
            allocations: cbench_thread_allocations() - allocations
        )
    }
}
