import CBench
import Seeded

/// Whole packages through their Swift API, with their locks, threads and closures.
///
/// Deadlines are an hour and more away, so that nothing fires during the measurement, and a new earliest deadline is as
/// rare as among timeouts.
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

    /// Returns the comparison of rivals that are fast enough with millions of timers.
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

    /// The object that closures hold.
    final class Payload: Sendable {}

    /// Returns a rival whose rounds each run on a fresh thread, which has its own run loops.
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

/// Timers as in code that keeps each of them in a stored property. An access to an array of references would retain and
/// release the object, which costs as much as moving a timer.
struct Owned<Object: AnyObject> {
    private let objects: [Object]
    private let unretained: [Unmanaged<Object>]

    init(_ objects: [Object]) {
        self.objects = objects
        unretained = objects.map(Unmanaged.passUnretained)
    }

    // Safe, because `objects` keeps them alive.
    @inline(__always)
    func with(_ index: Int, _ body: (Object) -> Void) {
        unretained[index]._withUnsafeGuaranteedRef(body)
    }
}

/// The deadlines of one round, in ns of `CLOCK_MONOTONIC`; they differ between rivals only by their zero.
struct Deadlines {
    private var random: SeededRandom
    private let zero_ns = cbench_now_ns() + 3_600_000_000_000

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    /// Returns an instant within the second hour from now.
    mutating func any() -> Int64 {
        zero_ns + Int64.random(in: 0..<3_600_000_000_000, using: &random)
    }

    /// Returns an instant after all those of `any()`, 10 µs later with every index.
    func later(_ index: Int) -> Int64 {
        zero_ns + 3_600_000_000_000 + Int64(index) * 10_000
    }

    mutating func timer(below count: Int) -> Int {
        Int.random(in: 0..<count, using: &random)
    }
}
