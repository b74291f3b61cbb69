// SPDX-License-Identifier: Apache-2.0
/// The cost of a number of fires to the process.
struct Usage: Sendable {
    var fires = 0
    /// The time of all threads: Dispatch and the concurrency runtime work for a timer on threads of their own.
    var processCPU_ns: Int64 = 0
    /// The same time in two parts, which the kernel divides by its ticks.
    var userCPU_ns: Int64 = 0
    var systemCPU_ns: Int64 = 0
    /// The time of the thread that fires; nil if the last fire came on another thread than the first.
    var threadCPU_ns: Int64?
    var voluntarySwitches = 0
    var involuntarySwitches = 0
    var pageFaults = 0
    /// The values of all threads; nil where the kernel does not report them.
    var instructions: Int64?
    var cycles: Int64?
    var cacheMisses: Int64?

    static func + (left: Usage, right: Usage) -> Usage {
        Usage(
            fires: left.fires + right.fires,
            processCPU_ns: left.processCPU_ns + right.processCPU_ns,
            userCPU_ns: left.userCPU_ns + right.userCPU_ns,
            systemCPU_ns: left.systemCPU_ns + right.systemCPU_ns,
            threadCPU_ns: left.sum(right, \.threadCPU_ns),
            voluntarySwitches: left.voluntarySwitches + right.voluntarySwitches,
            involuntarySwitches: left.involuntarySwitches + right.involuntarySwitches,
            pageFaults: left.pageFaults + right.pageFaults,
            instructions: left.sum(right, \.instructions),
            cycles: left.sum(right, \.cycles),
            cacheMisses: left.sum(right, \.cacheMisses)
        )
    }

    /// Returns a sum only if both values are known; a usage without fires adds nothing.
    private func sum(_ right: Usage, _ part: KeyPath<Usage, Int64?>) -> Int64? {
        if fires == 0 { return right[keyPath: part] }
        guard let left = self[keyPath: part], let right = right[keyPath: part] else { return nil }
        return left + right
    }

    /// Returns `amount` per fire; nil without fires.
    func perFire(_ amount: some BinaryInteger) -> Double? {
        fires > 0 ? Double(amount) / Double(fires) : nil
    }

    var cpuPerFire_ns: Double? { perFire(processCPU_ns) }
    var threadCPUPerFire_ns: Double? { threadCPU_ns.flatMap { perFire($0) } }
    var switchesPerFire: Double? { perFire(voluntarySwitches + involuntarySwitches) }
    /// The number of wake-ups per fire: a thread that gave up its processor voluntarily was woken again.
    var wakeupsPerFire: Double? { perFire(voluntarySwitches) }
}
