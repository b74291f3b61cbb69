// SPDX-License-Identifier: Apache-2.0
import CBench

/// The result of one round of one rival.
struct OperationSample: Sendable, Equatable {
    /// Nil if time means nothing: timers that fire at their deadlines take as long as the deadlines say.
    var nsPerOp: Double?
    /// Processor time of the whole process, because work that a call leaves to other threads has a cost too. Nil without
    /// other threads.
    var cpuPerOp_ns: Double?
    /// The longest call among those timed separately; nil if none was.
    var longestCall_ns: Int64?
    /// An upper bound of 999 of 1000 calls, where calls look for due timers or several threads call; nil if there are too few.
    var pollP999_ns: Double?
    /// Nil if it is not known.
    var bytesPerTimer: Double?
    /// The bytes that are still resident when all timers are gone; nil if that is not known.
    var bytesLeftPerTimer: Double?
    /// How often the engine's thread was woken per operation.
    var wakesPerOp: Double?
    /// The memory blocks that the operating thread allocates per operation; nil if they are not counted.
    var allocationsPerOp: Double?
    /// The mutexes that the operating thread locks per operation; nil if they are not counted.
    var locksPerOp: Double?
    /// How often per second a thread returned from a wait, and the fewest wake-ups that could serve the same timers.
    var wakeupsPerSecond: Double?
    var greedyWakeupsPerSecond: Double?
    /// Fires before the deadline, and fires after one with a later deadline. A rival with either has no meaningful result.
    var early: UInt64 = 0
    var inversions: UInt64 = 0

    /// The value by which rivals are compared: the time if it is known, otherwise the wake-ups if the fewest possible are
    /// known, otherwise the processor time.
    var compared: Double? { nsPerOp ?? (greedyWakeupsPerSecond == nil ? cpuPerOp_ns : wakeupsPerSecond) }
}

/// The time and the processor time since its creation.
struct OperationMeter {
    private let usage = cbench_usage_now()
    private let start_ns = cbench_now_ns()

    /// Returns what one of so many operations took.
    func sample(of operations: Int) -> OperationSample {
        let took_ns = cbench_now_ns() - start_ns
        let cpu_ns = cbench_usage_now().process_cpu_ns - usage.process_cpu_ns
        return OperationSample(
            nsPerOp: Double(took_ns) / Double(operations),
            cpuPerOp_ns: Double(cpu_ns) / Double(operations)
        )
    }
}

func blocksPerOp(_ allocations: UInt64, _ operations: Int) -> Double? {
    cbench_counts_allocations() ? Double(allocations) / Double(operations) : nil
}

/// Returns the median of the values, for an even number the mean of the two middle ones; nil without values.
func median(_ values: [Double]) -> Double? {
    guard !values.isEmpty else { return nil }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
}
