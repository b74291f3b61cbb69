import CBench

/// What one round of one rival gave.
struct OperationSample: Sendable, Equatable {
    /// Nil where time says nothing: what comes at its deadline takes as long as there is time.
    var nsPerOp: Double?
    /// Processor time of the whole process: what a call leaves to other threads costs too. Nil where there are none.
    var cpuPerOp_ns: Double?
    /// The longest single call that was timed; nil if none was timed by itself.
    var longestCall_ns: Int64?
    /// What 999 of 1000 calls that look for due timers did not pass; nil where there are too few.
    var pollP999_ns: Int64?
    /// Nil where it is not known.
    var bytesPerTimer: Double?
    /// What of it is resident still when all timers have gone; nil where it is not known.
    var bytesLeftPerTimer: Double?
    /// Times the engine's thread was woken, for each operation.
    var wakesPerOp: Double?
    /// Blocks of memory that the thread which operates allocates for each operation; nil where they are not counted.
    var allocationsPerOp: Double?
    /// Mutexes that the thread which operates locks for each operation; nil where they are not counted.
    var locksPerOp: Double?
    /// Times a second that a thread came back from a wait, and the fewest that could serve the same timers.
    var wakeupsPerSecond: Double?
    var greedyWakeupsPerSecond: Double?
    /// Fired before the deadline, or after a later one: a rival that does either has no number worth reading.
    var early: UInt64 = 0
    var inversions: UInt64 = 0

    /// What rivals are compared by: time, or processor time, or wake-ups, the first of them that is known.
    var compared: Double? { nsPerOp ?? (greedyWakeupsPerSecond == nil ? cpuPerOp_ns : wakeupsPerSecond) }
}

func blocksPerOp(_ allocations: UInt64, _ operations: Int) -> Double? {
    cbench_counts_allocations() ? Double(allocations) / Double(operations) : nil
}

/// The middle of the values, the mean of the two middle ones if they are even in number; nil without values.
func median(_ values: [Double]) -> Double? {
    guard !values.isEmpty else { return nil }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
}
