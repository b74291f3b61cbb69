// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import CBench
import CHRTimer

/// How much is measured.
enum Preset: String, CaseIterable, ExpressibleByArgument {
    case smoke, quick, standard, thorough

    /// The number of blocks of each subject, the length of one, the time after which no further round begins, and whether
    /// subjects that a first look does not need are measured too. A default run takes a minute, also on a busy machine. At
    /// an interval of 1 ms quick is enough for p99, standard for p99.9, thorough for p99.99.
    private var amount: (blocks: Int, block_ns: Int64, limit_ns: Int64?, hasAllSubjects: Bool) {
        switch self {
        case .smoke: (3, 40_000_000, 47_000_000_000, false)
        case .quick: (9, 112_000_000, 47_000_000_000, false)
        case .standard: (9, 1_200_000_000, nil, true)
        case .thorough: (20, 5_500_000_000, nil, true)
        }
    }

    var blocks: Int { amount.blocks }
    var block_ns: Int64 { amount.block_ns }
    var limit_ns: Int64? { amount.limit_ns }
    var hasAllSubjects: Bool { amount.hasAllSubjects }
}

extension LoadKind {
    static let usage = ValidationError(
        "it takes none, cpu, timers:N with N from 1 to 1000000, or cmd:COMMAND"
    )
}

/// The options of `bench run`.
struct RunOptions: ParsableArguments {
    @Option(help: "How much to measure: smoke (seconds), quick (a minute), standard (minutes), thorough (an hour).")
    var preset: Preset = .quick

    @Option(help: ArgumentHelp("Measure only the subjects whose id matches. Repeatable.", valueName: "glob"))
    var only: [String] = []

    @Option(help: ArgumentHelp("Leave out the subjects whose id matches. Repeatable.", valueName: "glob"))
    var skip: [String] = []

    @Option(
        // So that a negative time is refused as such, and not parsed as another option.
        parsing: .unconditionalSingleValue,
        help: "Time between deadlines, 10us to 1s, as in 250us, 1ms, 16.667ms; by default 1ms. Repeatable.",
        transform: time(10_000...1_000_000_000, "from 10us to 1s, such as 250us, 1ms or 16.667ms")
    )
    var interval: [Int64] = []

    @Flag(help: "Measure at nine intervals from 50 us to 1 s, in place of --interval; a table for each.")
    var sweep = false

    @Option(
        help: "How often each subject gets its turn, 1 to 1000; by default as the preset has it.",
        transform: whole(1...1000)
    )
    var blocks: Int?

    @Option(
        help: ArgumentHelp(
            "Fires of each block that are left out at first, 0 to 1000, while what fires is learning; by default 8.",
            valueName: "n"
        ),
        transform: whole(0...1000)
    )
    var settle: Int = 8

    @Flag(help: "Timer slack 1 ns, SCHED_FIFO for all threads, locked memory, as far as they are granted.")
    var tune = false

    @Option(
        help: ArgumentHelp("Processors for the process and its pools, as in 0,2-3.", valueName: "list"),
        transform: parseCPUs
    )
    var cpu: UInt64?

    @Option(
        help: ArgumentHelp(
            "Bound of the processors' wake latency in us, 0 to 1000000, by /dev/cpu_dma_latency; with 0 many guests poll at the "
                + "host's cost.",
            valueName: "us"
        ),
        transform: whole(0...1_000_000, unit: " of us")
    )
    var cpuDmaLatency: Int32?

    @Option(
        help: ArgumentHelp(
            "spinBudget of our precise engines and loops, 0 to 1; by default theirs.",
            valueName: "share"
        ),
        transform: decimal(0...1, "a share of one core from 0 to 1, such as 0.05")
    )
    var spinBudget: Double?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long each handler computes, 0us to 100ms, as programs do; by default 0us.",
            valueName: "time"
        ),
        transform: time(0...100_000_000, "from 0us to 100ms, such as 100us")
    )
    var work: Int64 = 0

    @Option(
        help: ArgumentHelp(
            "What else the machine has to do, in processes of its own: none; cpu, a busy one for each processor; timers:N, "
                + "one with N timers at \(LoadKind.loadRate_hz) Hz; or cmd:COMMAND.",
            valueName: "load"
        ),
        transform: parseLoad
    )
    var load: LoadKind = .none

    @Flag(help: "Exit with 1 if a kernel or hrtimer subject fired early, or left timers or descriptors behind.")
    var gate = false

    @Option(
        help: ArgumentHelp(
            "Compare with this result, JSON, or with the latest one kept by that name; exit with 2 if something is slower.",
            valueName: "file or name"
        )
    )
    var baseline: String?

    @Option(
        help: ArgumentHelp(
            "Keep the result by this name and the commit's hash in \(Baseline.directory), for --baseline.",
            valueName: "name"
        ),
        transform: Baseline.parseName
    )
    var keep: String?

    @Flag(help: "Show what the latest fires of each subject were late by. Reads the kernel's counts after each fire.")
    var why = false

    @Option(
        help: ArgumentHelp(
            "Write what engines, loops and subjects did last to this file, which ui.perfetto.dev opens.",
            valueName: "file"
        )
    )
    var trace: String?

    @OptionGroup var seed: SeedOption
    @OptionGroup var common: CommonOptions

    /// The intervals of 120 Hz and 60 Hz are among them.
    static let sweepIntervals: [Duration] = [
        .microseconds(50), .microseconds(100), .microseconds(250), .milliseconds(1), .milliseconds(4),
        .microseconds(8333), .microseconds(16_667), .milliseconds(100), .seconds(1),
    ]

    /// The plans that are measured, one after the other. Sweeps have fewer blocks, and few fires at long intervals: they
    /// are for a visual overview, and would take hours otherwise.
    var plans: [Plan] {
        let seed = seed.value
        let chosen = (interval.isEmpty ? [1_000_000] : interval).map { Duration.nanoseconds($0) }
        return (sweep ? Self.sweepIntervals : chosen).map { interval in
            Plan(
                subjects: subjects,
                interval: interval,
                blocks: blocks ?? (sweep ? 3 : preset.blocks),
                block_ns: preset.block_ns,
                seed: seed,
                leastFires: sweep ? 2 : 8,
                settling: settle,
                limit_ns: hasDefaultLength ? preset.limit_ns : nil,
                spinBudget: spinBudget,
                work_ns: work
            )
        }
    }

    /// False with options that need more time.
    private var hasDefaultLength: Bool {
        !sweep && blocks == nil && interval.count <= 1 && interval.allSatisfy { $0 <= 1_000_000 }
    }

    var tuning: Tuning { Tuning(isTuned: tune, cpus: cpu, wakeLatency_us: cpuDmaLatency) }

    func validate() throws {
        let shortest_ns = sweep ? 50_000 : interval.min() ?? 1_000_000
        if work >= shortest_ns {
            throw ValidationError("--work takes less than the shortest interval, which is \(timeText(shortest_ns))")
        }
        if sweep, !interval.isEmpty {
            throw ValidationError("--sweep has intervals of its own: say --sweep or --interval, not both")
        }
        for (option, patterns) in [("--only", only), ("--skip", skip)] {
            try mustMatch(patterns, Subject.all.map(\.id)) {
                "\(option) takes the id of a subject, or a glob; no subject matches '\($0)' (see bench list)"
            }
        }
        if subjects.isEmpty {
            let culprit = skip.isEmpty ? "--sweep leaves out, as it has a rate of its own," : "--skip takes away"
            throw ValidationError("\(culprit) all that --only chose: nothing is left to measure")
        }
    }

    /// The chosen subjects, in the order of the list; without a choice those of the preset. Subjects with their own
    /// interval must be named, and are not swept.
    var subjects: [Subject] {
        Subject.all.filter { subject in
            let isPreset = (subject.isDefault || preset.hasAllSubjects) && subject.interval_ns == nil
            return (isPreset || !only.isEmpty) && subject.id.isChosen(only: only, skip: skip)
                && !(sweep && subject.interval_ns != nil)
        }
    }
}

/// Parses the value of `--cpu`: numbers and ranges, which become a mask.
@Sendable
func parseCPUs(_ text: String) throws -> UInt64 {
    var mask: UInt64 = 0
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard ends.count <= 2, let first = ends[0], let last = ends[ends.count - 1], first <= last,
            (0..<64).contains(first), (0..<64).contains(last)
        else { throw ValidationError("it takes numbers of processors, such as 1 or 0,2-3; \(allowedCPUs)") }
        for cpu in first...last { mask |= 1 << UInt64(cpu) }
    }
    guard mask & ~cbench_affinity() == 0 else {
        throw ValidationError(
            "it takes processors that this process may use, and '\(text)' has another: \(allowedCPUs)"
        )
    }
    return mask
}

/// The processors that this process may use, for error messages.
private var allowedCPUs: String {
    let mask = cbench_affinity()
    let cpus = (0..<64).filter { mask & 1 << UInt64($0) != 0 }
    return "this process may use \(cpus.map { "\($0)" }.joined(separator: ", "))"
}
