import ArgumentParser
import CHRTimer

/// How much `bench ops` measures.
enum OpsPreset: String, CaseIterable, ExpressibleByArgument {
    case smoke, quick

    var rounds: Int {
        switch self {
        case .smoke: 1
        case .quick: 5
        }
    }

    /// Numbers of pending timers for the queues alone.
    var sizes: [Int] {
        switch self {
        case .smoke: [1000]
        case .quick: [1000, 100_000, 1_000_000]
        }
    }
}

/// Where the queues are measured.
enum Place: Equatable, Sendable {
    case cpu(Int)
    case anywhere
}

/// The options of `bench ops`.
struct OpsOptions: ParsableArguments {
    /// From there on timers of other packages, some of which search through all that are pending, take too long.
    static let mostTimersOfPublicAPIs = 100_000

    @Option(help: "How much to measure: smoke (seconds) or quick (two minutes).")
    var preset: OpsPreset = .quick

    @Option(help: "How often each rival gets its turn, 1 to 1000; by default 5.", transform: parseBlocks)
    var rounds: Int?

    @Option(
        help: ArgumentHelp(
            "Number of pending timers, 1 to 10000000. Repeatable; by default 1000, 100000 and 1000000.",
            valueName: "n"
        ),
        transform: parseTimers
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

    @OptionGroup var report: ReportOptions

    func validate() throws {
        let known = Self.comparisons(sizes: [1000], ownTimers: nil)
        for pattern in only where !known.contains(where: { $0.rivals.contains { $0.matches(pattern) } }) {
            throw ValidationError("--only takes the id of a rival, or a glob; '\(pattern)' matches none")
        }
        for pattern in operation where !known.contains(where: { $0.isOperation(pattern) }) {
            let names = known.reduce(into: [String]()) { if !$0.contains($1.operation) { $0.append($1.operation) } }
            throw ValidationError(
                "--operation takes a glob that matches one of \(names.joined(separator: ", ")), not '\(pattern)'"
            )
        }
        if comparisons.isEmpty { throw ValidationError("--only chose rivals that --operation leaves without work") }
    }

    /// What was chosen, in the order in which it is measured.
    var comparisons: [OperationComparison] {
        let all = Self.comparisons(sizes: timers.isEmpty ? preset.sizes : timers, ownTimers: timers.first)
        let chosen = all.filter { comparison in
            operation.isEmpty ? !comparison.isExtra : operation.contains(where: comparison.isOperation)
        }
        return chosen.compactMap { $0.only(only) }
    }

    /// `ownTimers`: the size asked for on the command line, if one was.
    private static func comparisons(sizes: [Int], ownTimers: Int?) -> [OperationComparison] {
        let queues = QueueOperations.workloads.flatMap { workload in
            sizes.map { QueueOperations.comparison(workload, timers: $0) }
        }
        let sources = SourceOperations.comparisons(ownTimers: ownTimers)
        return queues
            + sizes.filter { $0 <= mostTimersOfPublicAPIs }.flatMap(PublicOperations.comparisons)
            + sizes.prefix(1).flatMap {
                [FireOperations.comparison(timers: $0)] + ContendedOperations.comparisons(timers: $0)
            }
            + sources
            + CoalesceOperations.comparisons(ownTimers: ownTimers)
            + TaskOperations.comparisons(ownTimers: ownTimers)
            + [StatisticsOperations.comparison, MainQueueOperations.comparison]
    }

    /// The last processor by default: the first is the one that most interrupts go to.
    var pinnedCPU: Int? {
        switch cpu {
        case .cpu(let cpu): return cpu
        case .anywhere: return nil
        case nil:
            let allowed = hrt_thread_affinity()
            return allowed == 0 ? nil : 63 - allowed.leadingZeroBitCount
        }
    }
}

/// What `--timers` takes.
@Sendable
func parseTimers(_ text: String) throws -> Int {
    guard let timers = Int(text), (1...10_000_000).contains(timers) else {
        throw ValidationError("it takes a whole number from 1 to 10000000")
    }
    return timers
}

/// What `--cpu` of `bench ops` takes.
@Sendable
func parsePlace(_ text: String) throws -> Place {
    if text == "any" { return .anywhere }
    guard let cpu = Int(text), (0..<64).contains(cpu), hrt_thread_affinity() & 1 << UInt64(cpu) != 0 else {
        throw ValidationError("it takes the number of a processor that this process may use, or any")
    }
    return .cpu(cpu)
}
