import CBench

/// Runs operations one after the other on the calling thread, and times all of them together: a clock reading for each
/// would cost as much as the operation.
struct OperationLoop {
    /// Enough for three digits; slower operations are limited by time.
    var operations = 100_000
    var limit_ns: Int64 = 150_000_000

    private static let batch = 64

    /// Runs a tenth of the operations first, to warm up caches and pools. `operation` gets the number of operations before
    /// it. `drain` returns when other threads have finished the work that the operations passed to them. This time counts
    /// too; otherwise calls that only leave a note would look cheap.
    func measure(drain: () -> Void = {}, _ operation: (_ index: Int) -> Void) -> OperationSample {
        let warm = run(from: 0, atMost: operations / 10, within_ns: limit_ns / 10, operation)
        drain()
        let allocations = cbench_thread_allocations()
        let before = cbench_usage_now()
        let start_ns = cbench_now_ns()
        let done = run(from: warm, atMost: operations, within_ns: limit_ns, operation)
        drain()
        let took_ns = cbench_now_ns() - start_ns
        let after = cbench_usage_now()
        let allocated = cbench_thread_allocations() - allocations
        return OperationSample(
            nsPerOp: Double(took_ns) / Double(done),
            cpuPerOp_ns: Double(after.process_cpu_ns - before.process_cpu_ns) / Double(done),
            allocationsPerOp: blocksPerOp(allocated, done)
        )
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

/// Arms the pending timers by `arm`. Throws as soon as all of them would clearly take longer than a run may: the timers so
/// far took more than their share of the time, and the rest will not be faster.
func armPending(_ timers: Int, within limit: Duration = .seconds(10), _ arm: (_ index: Int) -> Void) throws {
    let start = ContinuousClock.now
    for index in 0..<timers {
        arm(index)
        guard index % 1000 == 999, (ContinuousClock.now - start) * timers / (index + 1) > limit else { continue }
        throw BenchError("with \(timers.grouped) timers a run would take more than \(limit)")
    }
}
