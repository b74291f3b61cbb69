// SPDX-License-Identifier: Apache-2.0
import CBench

/// Runs operations one after the other on the calling thread, and times all of them together: a clock reading for each
/// would cost as much as the operation.
struct OperationLoop {
    /// Enough for three digits; slower operations are limited by time.
    var operations = 100_000

    private static let limit_ns: Int64 = 150_000_000
    private static let batch = 64

    /// Runs a tenth of the operations first, to warm up caches and pools. `operation` gets the number of operations before
    /// it. `drain` returns when other threads have finished the work that the operations passed to them. This time counts
    /// too; otherwise calls that only leave a note would look cheap.
    func measure(drain: () -> Void = {}, _ operation: (_ index: Int) -> Void) -> OperationSample {
        let warm = run(from: 0, atMost: operations / 10, within_ns: Self.limit_ns / 10, operation)
        drain()
        let allocations = cbench_thread_allocations()
        let meter = OperationMeter()
        let done = run(from: warm, atMost: operations, within_ns: Self.limit_ns, operation)
        drain()
        var sample = meter.sample(of: done)
        sample.allocationsPerOp = blocksPerOp(cbench_thread_allocations() - allocations, done)
        return sample
    }

    private func run(from first: Int, atMost count: Int, within_ns: Int64, _ operation: (Int) -> Void) -> Int {
        let end_ns = cbench_now_ns() + within_ns
        var done = 0
        while done < count {
            let next = min(count, done + Self.batch)
            for index in done..<next { operation(first + index) }
            done = next
            if cbench_now_ns() >= end_ns { break }
        }
        return done
    }
}
