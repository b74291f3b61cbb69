import CBench
import Seeded

/// Whole packages through their Swift API: locks, threads, closures and all.
///
/// Deadlines are an hour and more away, so that nothing fires meanwhile, and a caller's earlier deadline is as rare as
/// among timeouts.
enum PublicOperations {
    static func comparisons(timers: Int) -> [OperationComparison] {
        [
            reArmComparison(
                timers: timers,
                [reArmSource, reArmEngine, reArmDispatch, reArmLoopTimer, reArmFoundation, reArmNIO, reArmLimit]
            ),
            OperationComparison(
                operation: "create-arm-cancel-destroy",
                explanation: "make a one-shot timer whose closure holds an object, arm it, cancel it, let it go",
                timers: timers,
                baseID: "hrtimer.source",
                isPinned: false,
                isExtra: false,
                rivals: [
                    churnEngine, churnSource, churnDispatch, churnLoopTimer, churnFoundation, churnNIO, churnLimit,
                ].map { $0(timers) }
            ),
            toleranceComparison(timers: timers),
        ] + loopComparisons(timers: timers)
    }

    /// What can be had by the million.
    static func crowdComparison(timers: Int) -> OperationComparison {
        reArmComparison(timers: timers, [reArmSource, reArmEngine, reArmLimit])
    }

    private static func reArmComparison(
        timers: Int,
        _ rivals: [@Sendable (Int) -> OperationRival]
    ) -> OperationComparison {
        OperationComparison(
            operation: "re-arm",
            explanation: "schedule a random long-lived timer again, later than it was",
            timers: timers,
            baseID: "hrtimer.source",
            isPinned: false,
            isExtra: false,
            rivals: rivals.map { $0(timers) }
        )
    }

    /// What closures hold.
    final class Payload: Sendable {}

    /// A rival whose rounds each run on a fresh thread, which has run loops of its own.
    static func rival(
        _ id: String,
        _ body: @escaping @Sendable (inout Deadlines) throws -> OperationSample
    ) -> OperationRival {
        OperationRival(id) { seed in
            try onFreshThread {
                var deadlines = Deadlines(seed: seed)
                return try body(&deadlines)
            }
        }
    }
}

/// Timers as code has them that keeps each in a stored property: an access to an array of references retains and releases
/// the object, which costs as much as moving a timer.
struct Owned<Object: AnyObject> {
    private let objects: [Object]
    private let unretained: [Unmanaged<Object>]

    init(_ objects: [Object]) {
        self.objects = objects
        unretained = objects.map(Unmanaged.passUnretained)
    }

    // Safe, since `objects` keeps them.
    @inline(__always)
    func with(_ index: Int, _ body: (Object) -> Void) {
        unretained[index]._withUnsafeGuaranteedRef(body)
    }
}

/// Deadlines of one round, in ns of `CLOCK_MONOTONIC`; the same for all rivals but for their zero.
struct Deadlines {
    private var random: SeededRandom
    private let zero_ns = cbench_now_ns() + 3_600_000_000_000

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    /// Within the second hour from now.
    mutating func any() -> Int64 {
        zero_ns + Int64.random(in: 0..<3_600_000_000_000, using: &random)
    }

    /// After all that `any()` gives, and 10 µs later with every index.
    func later(_ index: Int) -> Int64 {
        zero_ns + 3_600_000_000_000 + Int64(index) * 10_000
    }

    mutating func timer(below count: Int) -> Int {
        Int.random(in: 0..<count, using: &random)
    }
}
