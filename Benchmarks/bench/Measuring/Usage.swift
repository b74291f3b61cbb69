/// What a number of fires cost the process.
struct Usage: Sendable {
    var fires = 0
    /// Of all threads: what Dispatch and the concurrency runtime do for a timer, they do on threads of their own.
    var processCPU_ns: Int64 = 0
    /// Of the thread that fires; nil if the last fire came on another than the first.
    var threadCPU_ns: Int64?
    var voluntarySwitches = 0
    var involuntarySwitches = 0

    static func + (left: Usage, right: Usage) -> Usage {
        Usage(
            fires: left.fires + right.fires,
            processCPU_ns: left.processCPU_ns + right.processCPU_ns,
            threadCPU_ns: left.fires == 0 ? right.threadCPU_ns : sum(left.threadCPU_ns, right.threadCPU_ns),
            voluntarySwitches: left.voluntarySwitches + right.voluntarySwitches,
            involuntarySwitches: left.involuntarySwitches + right.involuntarySwitches
        )
    }

    /// Known only if both are.
    private static func sum(_ left: Int64?, _ right: Int64?) -> Int64? {
        if let left, let right { left + right } else { nil }
    }

    /// `amount` for each fire; nil without fires.
    func perFire(_ amount: some BinaryInteger) -> Double? {
        fires > 0 ? Double(amount) / Double(fires) : nil
    }

    var cpuPerFire_ns: Double? { perFire(processCPU_ns) }
    var threadCPUPerFire_ns: Double? { threadCPU_ns.flatMap { perFire($0) } }
    var switchesPerFire: Double? { perFire(voluntarySwitches + involuntarySwitches) }
    /// A thread that gave up the processor of its own will was woken again: these are the wake-ups.
    var wakeupsPerFire: Double? { perFire(voluntarySwitches) }
}
