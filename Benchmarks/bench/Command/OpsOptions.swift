// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CBench
import CHRTimer

/// How much `bench ops` measures.
enum OpsPreset: String, CaseIterable, ExpressibleByArgument {
    case smoke, quick

    var rounds: Int { self == .smoke ? 1 : 5 }

    /// The numbers of pending timers for the queues alone.
    var sizes: [Int] { self == .smoke ? [1000] : [1000, 100_000, 1_000_000] }
}

/// The processor on which the queues are measured.
enum Place: Equatable, Sendable {
    case cpu(Int)
    case anywhere
}

/// The options of `bench ops`.
struct OpsOptions: ParsableArguments {
    /// With more timers other packages take too long: some of them search through all pending timers.
    static let mostTimersOfPublicAPIs = 100_000

    @Option(help: "How much to measure: smoke (seconds) or quick (two minutes).")
    var preset: OpsPreset = .quick

    @Option(help: "How often each rival gets its turn, 1 to 1000; by default 5.", transform: whole(1...1000))
    var rounds: Int?

    @Option(
        help: ArgumentHelp(
            "Number of pending timers, 1 to 10000000. Repeatable; by default 1000, 100000 and 1000000.",
            valueName: "n"
        ),
        transform: whole(1...10_000_000)
    )
    var timers: [Int] = []

    @Option(help: ArgumentHelp("Measure only the rivals whose id matches, and the base.", valueName: "glob"))
    var only: [String] = []

    @Option(
        help: ArgumentHelp("Measure only the operations whose name matches, also extra ones.", valueName: "glob")
    )
    var operation: [String] = []

    @Option(
        help: ArgumentHelp("Processor to keep the queues on, or any; by default the last one.", valueName: "n"),
        transform: parsePlace
    )
    var cpu: Place?

    @Option(
        help: ArgumentHelp("Threads that arm and cancel at once, 1 to 256. Repeatable; by default 4.", valueName: "n"),
        transform: whole(1...256)
    )
    var threads: [Int] = []

    @OptionGroup var seed: SeedOption
    @OptionGroup var common: CommonOptions

    func validate() throws {
        let known = Self.comparisons(sizes: [MemoryOperations.fewestTimers], ownTimers: nil)
        try mustMatch(only, known.flatMap { $0.rivals.map(\.id) }) {
            "--only takes the id of a rival, or a glob; '\($0)' matches none"
        }
        let names = known.reduce(into: [String]()) { if !$0.contains($1.operation) { $0.append($1.operation) } }
        try mustMatch(operation, names) {
            "--operation takes a glob that matches one of \(names.joined(separator: ", ")), not '\($0)'"
        }
        if comparisons.isEmpty { throw ValidationError("--only chose rivals that --operation leaves without work") }
    }

    /// The chosen comparisons, in the order in which they are measured.
    var comparisons: [OperationComparison] {
        let all = Self.comparisons(
            sizes: timers.isEmpty ? preset.sizes : timers,
            ownTimers: timers.first,
            threads: threads.isEmpty ? [ContendedOperations.defaultThreads] : threads
        )
        let chosen = all.filter { comparison in
            operation.isEmpty ? !comparison.isExtra : comparison.operation.matches(anyOf: operation)
        }
        return chosen.compactMap { $0.only(only) }
    }

    /// Returns all comparisons. `ownTimers` is the number of timers from the command line, if there is one.
    static func comparisons(
        sizes: [Int],
        ownTimers: Int?,
        threads: [Int] = [ContendedOperations.defaultThreads]
    ) -> [OperationComparison] {
        let publicSizes = sizes.filter { $0 <= mostTimersOfPublicAPIs }
        // In steps, which the compiler can type-check one by one.
        var all = QueueOperations.workloads.flatMap { workload in
            sizes.map { QueueOperations.comparison(workload, timers: $0) }
        }
        all += publicSizes.flatMap(PublicOperations.comparisons)
        all += sizes.filter { $0 > mostTimersOfPublicAPIs }.map(PublicOperations.crowdComparison)
        if let size = sizes.first {
            all.append(FireOperations.comparison(timers: size))
            all += threads.flatMap { ContendedOperations.comparisons(timers: size, threads: $0) }
        }
        all += publicSizes.filter { $0 >= MemoryOperations.fewestTimers }.map(MemoryOperations.comparison)
        all += CoalesceOperations.comparisons(ownTimers: ownTimers)
        all += TaskOperations.comparisons(ownTimers: ownTimers)
        all += PacingOperations.comparisons + WatchedOperations.comparisons
        return all + [StatisticsOperations.comparison, MainQueueOperations.comparison]
    }

    /// The chosen processor. By default the last one: most interrupts go to the first.
    var pinnedCPU: Int? {
        switch cpu {
        case .cpu(let cpu): return cpu
        case .anywhere: return nil
        case nil:
            let allowed = cbench_affinity()
            return allowed == 0 ? nil : 63 - allowed.leadingZeroBitCount
        }
    }
}

/// Parses the value of `--cpu` of `bench ops`.
@Sendable
func parsePlace(_ text: String) throws -> Place {
    if text == "any" { return .anywhere }
    guard let cpu = Int(text), (0..<64).contains(cpu), cbench_affinity() & 1 << UInt64(cpu) != 0 else {
        throw ValidationError("it takes the number of a processor that this process may use, or any")
    }
    return .cpu(cpu)
}
